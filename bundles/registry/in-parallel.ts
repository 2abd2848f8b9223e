/** `work` on every item, at most `limit` at once. The first failure stops the others by their signal and is thrown. */
export const inParallel = async <Item>(
  items: Iterable<Item>,
  limit: number,
  signal: AbortSignal | undefined,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const failed = new AbortController();
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const queue = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); !next.done && !stop.aborted; next = queue.next()) {
      try {
        await work(next.value, stop);
      } catch (error) {
        // The others end because of this one: theirs say nothing new.
        failures.push(error);
        failed.abort();
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, limit) }, worker));
  signal?.throwIfAborted();
  if (failures.length > 0) throw failures[0];
};
