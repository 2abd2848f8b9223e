/** How an operation goes on beside others that wait for the health of their packages. */
export type Beside = {
  /** Resolves when no other operation plans or changes anything; calling the function it resolves with lets the next one go on. */
  readonly enter: () => Promise<() => void>;
  /** Called when the operation begins to wait for the health of its package. */
  readonly onWait: () => void;
};

/**
 * Operations under way: one at a time plans, applies, rolls back and is recorded, in the order in which they asked; beside it others wait for
 * the health of what they have applied.
 */
export const createUnderWay = (most: number) => {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let last = Promise.resolve();

  const enter = async (): Promise<() => void> => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    return resolve;
  };
  /** Waits for all. @throws the first error of one, when all have ended */
  const all = async (): Promise<void> => {
    await Promise.all(running);
    if (failure) throw failure.error;
  };
  return {
    all,
    /** Waits until one more may begin. @throws as `all`: after an error none begins */
    room: async (): Promise<void> => {
      while (running.size >= most) await Promise.race(running);
      if (failure) await all();
    },
    /** Begins one, and resolves when it waits for the health of its package or has ended. */
    add: async (work: (beside: Beside) => Promise<void>): Promise<void> => {
      const waits = Promise.withResolvers<void>();
      const run = async (): Promise<void> => {
        try {
          await work({ enter, onWait: waits.resolve });
        } catch (error) {
          failure ??= { error };
        } finally {
          running.delete(own);
          waits.resolve();
        }
      };
      const own = run();
      running.add(own);
      await waits.promise;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await Promise.all(running);
    },
  };
};
