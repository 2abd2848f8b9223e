import { setTimeout } from 'node:timers/promises';

export type Repeated = AsyncDisposable & {
  /** As soon as the round under way is over. */
  readonly poke: () => void;
};

/**
 * Does something again and again, one round at a time: after `everyMs`, or at once when it is poked. Disposing of it waits
 * for the round under way. Rounds must not throw.
 */
export const repeat = (work: (signal: AbortSignal) => Promise<unknown>, everyMs: number): Repeated => {
  const stop = new AbortController();
  let poked = true;
  let wake = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      if (!poked) {
        wake = new AbortController();
        const signal = AbortSignal.any([stop.signal, wake.signal]);
        await setTimeout(everyMs, undefined, { signal }).catch(() => {});
      }
      poked = false;
      if (!stop.signal.aborted) await work(stop.signal);
    }
  };
  const running = loop();
  return {
    poke: () => {
      poked = true;
      wake.abort();
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};
