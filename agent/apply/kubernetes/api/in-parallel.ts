import { inParallel as inLanes } from '#bundles/in-parallel';

/** Concurrent requests to one API server. */
const AT_ONCE = 16;

/** Runs `work` for all items with bounded concurrency. Returns the results in the items' order; rejects with the first error. */
export const inParallel = <Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> => inLanes(items.entries(), AT_ONCE, ([index, item]) => work(item, index));
