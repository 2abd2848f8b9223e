import { setTimeout } from 'node:timers/promises';

/** A sleep that others may end. A ring that comes while nobody sleeps ends the next sleep before it begins. */
export type Alarm = {
  readonly ring: () => void;
  /** Forgets rings so far: what comes next has seen everything they were about. */
  readonly reset: () => void;
  /** Returns when the time is over, it rang, or the signal came. */
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
