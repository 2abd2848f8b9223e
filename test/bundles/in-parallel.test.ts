import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inParallel } from '#bundles/in-parallel';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

describe('inParallel', () => {
  it('runs at most the given number of items at a time, and returns results in the order of the items', async () => {
    let now = 0;
    let most = 0;
    const results = await inParallel(new Set(numbers(20)), 3, async (item) => {
      most = Math.max(most, ++now);
      await setTimeout(item % 3);
      now--;
      return item * 2;
    });
    expect(results).toEqual(numbers(20).map((item) => item * 2));
    expect(most).toBe(3);
    expect(await inParallel([], 3, async () => 1)).toEqual([]);
  });

  it('aborts the other items when one fails, and throws the first error in item order that is not an abort', async () => {
    const begun: number[] = [];
    const work = inParallel(numbers(100), 4, async (item, signal) => {
      begun.push(item);
      // Only stopped by the others.
      if (item === 0) await setTimeout(60_000, undefined, { signal });
      // The last to fail, and the first in order.
      if (item === 1) await setTimeout(5);
      throw new Error(`item ${item}`);
    });
    await expect(work).rejects.toThrow('item 1');
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('throws the reason of its signal rather than the error of an item that failed afterwards', async () => {
    const stop = new AbortController();
    const begun: number[] = [];
    const work = inParallel(
      numbers(100),
      2,
      async (item) => {
        begun.push(item);
        stop.abort(new Error('stopped by a person'));
        throw new Error('the socket is gone');
      },
      stop.signal,
    );
    await expect(work).rejects.toThrow('stopped by a person');
    expect(begun.length).toBeLessThanOrEqual(2);
  });
});
