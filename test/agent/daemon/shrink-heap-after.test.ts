import { getHeapStatistics } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunExclusively } from '../../../agent/acquire/pull-release.ts';
import { shrinkHeapAfter } from '../../../agent/daemon/shrink-heap-after.ts';

const atOnce: RunExclusively = (work) => Promise.resolve(work());
const MIB = 1 << 20;

/** A heap that shrinks to 10 MiB. */
const heap = () => {
  const one = { held: 10 * MIB, times: 0 };
  const memory = {
    heldBytes: () => one.held,
    collect: () => {
      one.times += 1;
      one.held = 10 * MIB;
    },
  };
  return { one, memory };
};

describe('shrinkHeapAfter', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('shrinks the heap twice after the last work, and then not again', async () => {
    const { one, memory } = heap();
    const exclusively = shrinkHeapAfter(atOnce, memory, 5000);
    for (const size of [20, 30]) {
      await exclusively(async () => void (one.held = size * MIB));
      await vi.advanceTimersByTimeAsync(4000);
      expect(one.times).toBe(0);
    }
    await vi.advanceTimersByTimeAsync(2000);
    expect(one).toEqual({ held: 10 * MIB, times: 1 });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(one.times).toBe(2);
  });

  it('shrinks only a heap that is worth it, and never during work', async () => {
    const { one, memory } = heap();
    const exclusively = shrinkHeapAfter(atOnce, memory, 5000);
    await exclusively(async () => void (one.held = 20 * MIB));
    await vi.advanceTimersByTimeAsync(6000);
    await exclusively(async () => void (one.held = 10.5 * MIB));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.times).toBe(1);
    const long = Promise.withResolvers<void>();
    one.held = 20 * MIB;
    const working = exclusively(() => long.promise);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.times).toBe(1);
    long.reject(new Error('its own'));
    await expect(working).rejects.toThrow('its own');
    await vi.advanceTimersByTimeAsync(6000);
    expect(one.times).toBe(2);
  });

  it('has a heap that shrinks', async () => {
    vi.useRealTimers();
    const exclusively = shrinkHeapAfter(atOnce, undefined, 1);
    await exclusively(async () => void Array.from({ length: 400_000 }, (_, index) => ({ index })).at(-1));
    const before = getHeapStatistics().total_heap_size;
    await expect.poll(() => getHeapStatistics().total_heap_size).toBeLessThan(before);
  });
});
