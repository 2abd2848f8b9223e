import { setTimeout } from 'node:timers/promises';

/** A wake-up signal for a sleeping loop. A ring outside of `wait` ends the next `wait` immediately. */
export type Alarm = {
  readonly ring: () => void;
  /** Discards earlier rings. Called at the start of a round, which handles their cause. */
  readonly reset: () => void;
  /** Resolves after `ms`, on a ring, or when the signal aborts. Never rejects. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const makeAlarm = (): Alarm => {
  let rung = new AbortController();
  return {
    ring: () => rung.abort(),
    reset: () => {
      rung = new AbortController();
    },
    wait: async (ms, signal) => {
      await setTimeout(ms, undefined, { signal: AbortSignal.any([signal, rung.signal]) }).catch(() => {});
    },
  };
};
