import type { Sleep } from '../../agent/daemon/wake-signal.ts';

/** Time that passes when a test says so: days of waiting in milliseconds. */
export type VirtualTime = {
  readonly sleep: Sleep;
  readonly now: () => Date;
  /** Lets this much pass; timers that fire meanwhile run first. */
  readonly pass: (ms: number) => Promise<void>;
  /** The wall clock alone jumps. */
  readonly jump: (ms: number) => void;
};

export const virtualTime = (start: Date): VirtualTime => {
  let elapsed = 0;
  let jumped = 0;
  const timers = new Set<{ readonly due: number; readonly end: () => void }>();
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    now: () => new Date(start.getTime() + elapsed + jumped),
    jump: (ms) => {
      jumped += ms;
    },
    sleep: (ms, ...until) =>
      new Promise((resolve) => {
        if (until.some(({ aborted }) => aborted)) {
          resolve();
          return;
        }
        const end = (): void => {
          timers.delete(timer);
          for (const signal of until) signal.removeEventListener('abort', end);
          resolve();
        };
        const timer = { due: elapsed + ms, end };
        timers.add(timer);
        for (const signal of until) signal.addEventListener('abort', end);
      }),
    pass: async (ms) => {
      const limit = elapsed + ms;
      for (;;) {
        await settle();
        const next = [...timers].toSorted((a, b) => a.due - b.due)[0];
        if (!next || next.due > limit) break;
        elapsed = next.due;
        next.end();
      }
      elapsed = limit;
    },
  };
};
