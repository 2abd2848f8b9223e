import { setTimeout as timer } from 'node:timers/promises';

/** Clock for waiting; tests pass their own. */
export type Clock = {
  readonly now: () => Date;
  /** Monotonic milliseconds from any start; does not jump with the wall clock (checklist T4). */
  readonly elapsedMs: () => number;
  /** Ends early, without an error, when the signal fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const systemClock: Clock = {
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  sleep: (ms, signal) => timer(ms, undefined, { signal }).catch(() => {}),
};
