import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../../agent/apply/kubernetes/watch/clock.ts';

/** Time that stands still while anything happens, and jumps to the next sleeper when nothing does. */
export type VirtualClock = Clock &
  Disposable & {
    /** Does something at a time from the start, in ms. */
    readonly at: (ms: number, act: () => void) => void;
  };

const START = Date.parse('2026-03-01T10:00:00Z');
/** Promises that are ready settle within so many turns of the loop. */
const TURNS = 4;

export const virtualClock = (): VirtualClock => {
  let elapsed = 0;
  const over = new AbortController();
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = { at: elapsed + ms, wake: resolve };
    sleepers.add(sleeper);
    signal.addEventListener('abort', () => {
      sleepers.delete(sleeper);
      resolve();
    });
    return promise;
  };
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (let index = 0; index < TURNS; index++) await turn();
      const [next] = [...sleepers].toSorted((a, b) => a.at - b.at);
      if (!next) continue;
      elapsed = Math.max(elapsed, next.at);
      sleepers.delete(next);
      next.wake();
    }
  };
  void run();
  return {
    now: () => new Date(START + elapsed),
    elapsedMs: () => elapsed,
    sleep,
    at: (ms, act) => {
      sleepers.add({ at: ms, wake: act });
    },
    [Symbol.dispose]: () => {
      over.abort();
    },
  };
};
