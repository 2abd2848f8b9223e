import { toFleetError } from './errors.ts';

/**
 * Works on all items, at most `width` at once, and gives the results in the items' order. The first failure stops the others by
 * the signal they get and keeps new ones from beginning; when all have ended it is thrown. Of several, the one whose item comes
 * first: who does the same again is told the same.
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
  if (failures.length > 0) throw tellingOf(failures).error;
  return results;
};

type Failure = { readonly at: number; readonly error: unknown };

/** Whoever was only stopped because of another says nothing new. */
const tellingOf = (failures: readonly Failure[]): Failure => {
  const own = failures.filter(({ error }) => toFleetError(error).code !== 'ABORTED');
  return (own.length > 0 ? own : failures).reduce((a, b) => (b.at < a.at ? b : a));
};

function* entriesOf<Item>(items: Iterable<Item>): Generator<readonly [number, Item], void> {
  let at = 0;
  for (const item of items) yield [at++, item];
}
