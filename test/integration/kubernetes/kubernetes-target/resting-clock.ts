import { setTimeout as wait } from 'node:timers/promises';
import type { Sleep } from '../../../../agent/daemon/wake-signal.ts';

/** The clock of a daemon under test. Time passes only while the daemon sleeps, and a sleep of an hour ends at once. */
export type RestingClock = {
  readonly now: () => Date;
  readonly sleep: Sleep;
  /** Advances the clock by so many ms: waits for each sleep of the daemon, and ends it if it is over by then. */
  readonly pass: (ms: number) => Promise<void>;
};

type Rest = { readonly until: number; readonly end: () => void };

export const restingClock = (start: Date): RestingClock => {
  let now = start.getTime();
  let rest: Rest | undefined;
  const resting = async (): Promise<Rest> => {
    for (;;) {
      if (rest) return rest;
      await wait(5);
    }
  };
  return {
    now: () => new Date(now),
    sleep: (ms, ...signals) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const end = (): void => {
        if (rest?.end === end) rest = undefined;
        resolve();
      };
      if (signals.some(({ aborted }) => aborted)) return Promise.resolve();
      rest = { until: now + Math.max(0, ms), end };
      for (const signal of signals) signal.addEventListener('abort', end, { once: true });
      return promise;
    },
    pass: async (ms) => {
      const limit = now + ms;
      for (;;) {
        const next = await resting();
        if (next.until > limit) break;
        now = next.until;
        next.end();
      }
      now = limit;
    },
  };
};
