import { describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { keepUnpacked, type Unpacked } from '../../../../../scheduler/hub/questions/history/keep-unpacked.ts';

const [A, B, C] = ['a', 'b', 'c'].map((name) => digestOf(name)) as [Digest, Digest, Digest];

const world = (bytes: number) => {
  const read: Digest[] = [];
  const unpack = keepUnpacked(async (bundle): Promise<Unpacked> => {
    read.push(bundle);
    return new Map([['web', new Map([['a.yaml', Buffer.alloc(bytes)]])]]);
  }, 100);
  return { read, unpack };
};

describe('unpacked bundles', () => {
  test('are cached up to the limit, and the least recently used is dropped', async () => {
    const { read, unpack } = world(40);
    const first = await unpack(A);
    await unpack(B);
    expect(await unpack(A)).toBe(first);
    await unpack(C);
    await unpack(A);
    expect(read).toEqual([A, B, C]);
    await unpack(B);
    expect(read).toEqual([A, B, C, B]);
  });

  test('are not cached when one exceeds the limit', async () => {
    const { read, unpack } = world(101);
    await unpack(A);
    await unpack(A);
    expect(read).toEqual([A, A]);
  });

  test('are read again after a failure', async () => {
    let fails = true;
    const unpack = keepUnpacked(async () => {
      if (fails) throw new Error('gone');
      return new Map();
    }, 100);
    await expect(unpack(A)).rejects.toThrow('gone');
    fails = false;
    expect(await unpack(A)).toEqual(new Map());
  });
});
