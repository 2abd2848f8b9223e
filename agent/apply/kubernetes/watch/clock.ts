import { setTimeout as timer } from 'node:timers/promises';

/** Time as waiting needs it; tests bring their own. */
export type Clock = {
  readonly now: () => Date;
  /** Milliseconds since anything: goes on steadily while the wall clock jumps (checklist T4). */
  readonly elapsedMs: () => number;
  /** Ends early, without an error, when the signal fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const systemClock: Clock = {
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  sleep: (ms, signal) => timer(ms, undefined, { signal }).catch(() => {}),
};
