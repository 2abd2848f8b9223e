import { setTimeout } from 'node:timers/promises';

export type Repeated = AsyncDisposable & {
  /** Starts the next round as soon as the current one is over. */
  readonly wake: () => void;
};

/**
 * Runs `work` repeatedly, one round at a time: immediately, then every `everyMs` or when poked. `onFailure` gets what a round threw, and the
 * next round tries again. Disposal aborts the signal and waits for the current round, whose failure is then not reported.
 */
export const repeat = (
  work: (signal: AbortSignal) => Promise<unknown>,
  everyMs: number,
  onFailure: (error: unknown) => void,
): Repeated => {
  const stop = new AbortController();
  let isWoken = true;
  let wake = new AbortController();
  const round = async (): Promise<void> => {
    try {
      await work(stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) onFailure(error);
    }
  };
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      if (!isWoken) {
        wake = new AbortController();
        const signal = AbortSignal.any([stop.signal, wake.signal]);
        await setTimeout(everyMs, undefined, { signal }).catch(() => {});
      }
      isWoken = false;
      if (!stop.signal.aborted) await round();
    }
  };
  const running = loop();
  return {
    wake: () => {
      isWoken = true;
      wake.abort();
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};
