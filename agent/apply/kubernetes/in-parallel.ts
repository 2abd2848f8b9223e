import { inParallel as inLanes } from '#bundles/in-parallel';

/** How many requests go to one API server at once. */
export const AT_ONCE = 16;

/** Does `work` for all items, so many at a time; results in the items' order. The first error ends it. */
export const inParallel = <Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> => inLanes(items.entries(), AT_ONCE, ([index, item]) => work(item, index));
