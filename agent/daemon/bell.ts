/** Milliseconds on the monotonic clock, or until a signal; injected, so that tests need no time. */
export type Sleep = (ms: number, ...until: readonly AbortSignal[]) => Promise<void>;

/** Timers of Node hold 31 bits: one more and they go off at once, again and again. */
const LONGEST_MS = 2 ** 31 - 1;

/** Timers run on the monotonic clock, so no jump of the wall clock starves or floods what waits here. */
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
    const timer = setTimeout(end, Math.min(LONGEST_MS, Math.max(0, ms)));
    for (const signal of until) signal.addEventListener('abort', end);
  });

/** Ends another loop's rest early. Rung while it works, it is heard at its next rest. */
export type Bell = {
  readonly ring: () => void;
  /** Rests so long at most, or until the bell or the daemon's end. */
  readonly rest: (ms: number) => Promise<void>;
};

export const makeBell = (sleep: Sleep, stop: AbortSignal): Bell => {
  let rung = new AbortController();
  return {
    ring: () => rung.abort(),
    rest: async (ms) => {
      await sleep(ms, rung.signal, stop);
      rung = new AbortController();
    },
  };
};
