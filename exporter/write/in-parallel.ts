/**
 * Runs `work` over the items in order, a few at a time; the first failure stops the others before it is thrown.
 * @throws what `work` throws
 */
export const inParallel = async <T>(
  items: readonly T[],
  width: number,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> => {
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const queue = items.values();
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (either.aborted) return;
      try {
        await work(item, either);
      } catch (error) {
        failure ??= { error };
        stop.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  if (failure) throw failure.error;
  signal?.throwIfAborted();
};
