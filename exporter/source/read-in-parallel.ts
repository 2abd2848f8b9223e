import { inParallel } from '#bundles/in-parallel';

/** Questions to a registry wait for the network most of the time. */
const WIDTH = 8;

/** Reads for all items, a few at a time; results, and the failure that is thrown, go by the items' order. */
export const readInParallel = <T, R>(
  items: Iterable<T>,
  read: (item: T, signal: AbortSignal) => Promise<R>,
  signal?: AbortSignal,
): Promise<readonly R[]> => inParallel(items, WIDTH, read, signal);
