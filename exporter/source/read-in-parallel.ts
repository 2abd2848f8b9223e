import { inParallel } from '#bundles/in-parallel';

/** Concurrent requests; each mostly waits for the network. */
const WIDTH = 8;

/** Reads for all items with bounded concurrency. Results are in the items' order; rejects with the first error in that order. */
export const readInParallel = <T, R>(
  items: Iterable<T>,
  read: (item: T, signal: AbortSignal) => Promise<R>,
  signal?: AbortSignal,
): Promise<readonly R[]> => inParallel(items, WIDTH, read, signal);
