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
  test('are kept as long as they fit, and the one that was used last stays', async () => {
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

  test('are not kept when one is larger than all that may be kept', async () => {
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
