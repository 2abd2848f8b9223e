/** How many requests go to one API server at once. */
export const AT_ONCE = 16;

/** Does `work` for all items, so many at a time; results in the items' order. The first error ends it. */
export const inParallel = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const index = next++;
      try {
        results[index] = await work(items[index] as Item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
};
