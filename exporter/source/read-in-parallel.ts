/** Questions to a registry wait for the network most of the time. */
const WIDTH = 8;

/**
 * Reads for all items, a few at a time; results and, of several failures, the one that is thrown go by the items' order.
 */
export const readInParallel = async <T, R>(
  items: Iterable<T>,
  read: (item: T) => Promise<R>,
  signal?: AbortSignal,
): Promise<readonly R[]> => {
  const list = [...items];
  const results = Array.from<PromiseSettledResult<R> | undefined>({ length: list.length });
  const queue = list.entries();
  let failed = false;
  const lane = async (): Promise<void> => {
    for (const [at, item] of queue) {
      if (failed || signal?.aborted) return;
      const [settled] = await Promise.allSettled([read(item)]);
      results[at] = settled;
      failed ||= settled.status === 'rejected';
    }
  };
  await Promise.all(Array.from({ length: Math.min(WIDTH, list.length) }, lane));
  signal?.throwIfAborted();
  return results.flatMap((result) => {
    if (result?.status === 'rejected') throw result.reason;
    return result ? [result.value] : [];
  });
};
