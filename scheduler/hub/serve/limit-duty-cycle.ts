import { setTimeout } from 'node:timers/promises';

export type DutyCycle = {
  /** Part of the time that rounds take at most. */
  readonly share: number;
  /** The longest pause. On a busy machine a round takes many times longer, and what it looks for must not wait as many times longer. */
  readonly maxPauseMs: number;
};

/** Pauses after each round, also one that fails: at thousands of sites a report comes with every second. */
export const limitDutyCycle =
  (round: (signal: AbortSignal) => Promise<unknown>, { share, maxPauseMs }: DutyCycle) =>
  async (signal: AbortSignal): Promise<void> => {
    const started = performance.now();
    try {
      await round(signal);
    } finally {
      const pauseMs = Math.min((performance.now() - started) / share, maxPauseMs);
      await setTimeout(pauseMs, undefined, { signal }).catch(() => {});
    }
  };
