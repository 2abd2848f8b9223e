import { toFleetError } from './errors.ts';

/**
 * Runs `work` on all items, at most `width` at a time, and returns the results in the order of the items. The first failure aborts the
 * signal of the running calls and starts no new ones. After all have ended it throws the failure of the earliest item, so that
 * the same call reports the same error.
 * @throws the reason of `signal` when that is aborted, else what `work` throws
 */
export const inParallel = async <Item, Result>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<readonly Result[]> => {
  const failed = new AbortController();
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const queue = entriesOf(items);
  const results: Result[] = [];
  const failures: Failure[] = [];
  const lane = async (): Promise<void> => {
    for (let next = queue.next(); !next.done && !stop.aborted; next = queue.next()) {
      const [at, item] = next.value;
      try {
        results[at] = await work(item, stop);
      } catch (error) {
        failures.push({ at, error });
        failed.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, width) }, lane));
  signal?.throwIfAborted();
  if (failures.length > 0) throw mostInformative(failures).error;
  return results;
};

type Failure = { readonly at: number; readonly error: unknown };

/** Prefers failures other than ABORTED: a call that was stopped because of another one adds no information. */
const mostInformative = (failures: readonly Failure[]): Failure => {
  const own = failures.filter(({ error }) => toFleetError(error).code !== 'ABORTED');
  return (own.length > 0 ? own : failures).reduce((a, b) => (b.at < a.at ? b : a));
};

function* entriesOf<Item>(items: Iterable<Item>): Generator<readonly [number, Item], void> {
  let at = 0;
  for (const item of items) yield [at++, item];
}
