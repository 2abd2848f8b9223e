import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { streamBlob } from '../../../exporter/source/stream-blob.ts';

const BLOB = digestOf('a blob');

/** Blobs of so many chunks, each full of a number that no chunk before had. */
const countingBlobs = (sizes: readonly number[]): BlobSource => {
  let number = 0;
  return {
    name: 'a disk',
    size: async () => undefined,
    open: async (_digest, _signal, buffers) =>
      (async function* () {
        for (const size of sizes) {
          const buffer = buffers?.() ?? Buffer.alloc(size);
          number = (number % 250) + 1;
          yield buffer.fill(number).subarray(0, size);
        }
      })(),
  };
};

const allOf = async (blobs: BlobSource): Promise<readonly Uint8Array[]> =>
  await Array.fromAsync(streamBlob(blobs, BLOB));

const SIZE = 64 << 10;

describe('a blob for copying', () => {
  it('leaves each chunk alone until the next but one is asked for', async () => {
    let before: { readonly chunk: Uint8Array; readonly first: number | undefined } | undefined;
    for await (const chunk of streamBlob(countingBlobs(Array(12).fill(SIZE)), BLOB)) {
      expect(before?.chunk[0]).toBe(before?.first);
      before = { chunk, first: chunk[0] };
    }
  });

  it('leaves its last chunk alone whoever copies other blobs then: it may still be written', async () => {
    const blobs = countingBlobs([SIZE, SIZE, SIZE, SIZE, SIZE]);
    const kept = await Promise.all([1, 2, 3].map(async () => (await allOf(blobs)).at(-1)));
    const lasts = kept.map((chunk) => chunk?.[0]);
    for (let more = 0; more < 5; more += 1) await allOf(blobs);
    expect(kept.map((chunk) => chunk?.[0])).toEqual(lasts);
    expect(new Set(lasts).size).toBe(3);
  });

  it('leaves what was given alone when nobody reads on', async () => {
    const blobs = countingBlobs([SIZE, SIZE, SIZE, SIZE, SIZE]);
    let kept: Uint8Array | undefined;
    for await (const chunk of streamBlob(blobs, BLOB)) {
      kept = chunk;
      if (chunk[0] === 3) break;
    }
    for (let more = 0; more < 5; more += 1) await allOf(blobs);
    expect(kept?.[0]).toBe(3);
  });

  it('uses the memory of blobs that were copied before', async () => {
    const blobs = countingBlobs(Array(8).fill(SIZE));
    const memory = new Set<ArrayBufferLike>();
    const times = 20;
    for (let time = 0; time < times; time += 1)
      for (const chunk of await allOf(blobs)) memory.add(chunk.buffer);
    expect(memory.size).toBeLessThan(3 * times);
  });
});
