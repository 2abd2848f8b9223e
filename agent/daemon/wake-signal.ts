/** Waits for milliseconds on the monotonic clock, or until a signal is aborted. Injected, so that tests take no time. */
export type Sleep = (ms: number, ...until: readonly AbortSignal[]) => Promise<void>;

/** Longest delay of a Node timer; a larger one fires immediately. */
const MAX_MS = 2 ** 31 - 1;

/** Timers use the monotonic clock, so jumps of the wall clock neither delay nor multiply wake-ups. */
export const sleep: Sleep = (ms, ...until) =>
  new Promise((resolve) => {
    if (until.some(({ aborted }) => aborted)) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of until) signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(MAX_MS, Math.max(0, ms)));
    for (const signal of until) signal.addEventListener('abort', end);
  });

/** A wake-up signal that ends the rest of another loop early. Sent while that loop works, it ends its next rest at once. */
export type WakeSignal = {
  readonly wake: () => void;
  /** Waits for at most `ms` milliseconds, until the signal is sent or the daemon stops. */
  readonly rest: (ms: number) => Promise<void>;
};

export const createWakeSignal = (sleep: Sleep, stop: AbortSignal): WakeSignal => {
  let woken = new AbortController();
  return {
    wake: () => woken.abort(),
    rest: async (ms) => {
      await sleep(ms, woken.signal, stop);
      woken = new AbortController();
    },
  };
};
