import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { newBuffers } from '#bundles/layout/read-span';
import { streamBlob } from '../../../exporter/source/stream-blob.ts';

const BLOB = digestOf('a blob');
const SIZE = 64 << 10;

/** Blobs of so many chunks, each full of a number that no chunk before had. */
const countingBlobs = (chunks: number): BlobSource => {
  let number = 0;
  return {
    name: 'a disk',
    size: async () => undefined,
    open: async (_digest, _signal, buffers) =>
      (async function* () {
        for (let chunk = 0; chunk < chunks; chunk += 1) {
          const buffer = buffers?.() ?? Buffer.alloc(SIZE);
          number = (number % 250) + 1;
          yield buffer.fill(number).subarray(0, SIZE);
        }
      })(),
  };
};

describe('a blob for copying', () => {
  it('is read with the memory of blobs that were copied before', async () => {
    const blobs = countingBlobs(8);
    const memory = new Set<ArrayBufferLike>();
    for (let time = 0; time < 20; time += 1)
      for await (const chunk of streamBlob(blobs, BLOB)) memory.add(chunk.buffer);
    expect(memory.size).toBe(4);
  });

  it('leaves the memory of other blobs alone that are copied at the same time', async () => {
    const blobs = countingBlobs(5);
    const [one, other] = [streamBlob(blobs, BLOB), streamBlob(blobs, BLOB)];
    for (let chunk = 0; chunk < 5; chunk += 1) {
      const { value } = await one.next();
      const first = value?.[0];
      const { value: next } = await other.next();
      expect(value?.[0]).toBe(first);
      expect(next?.[0]).not.toBe(first);
    }
  });

  it('gives the memory back that a reader had who reads no further, or whose source failed', async () => {
    const memory = new Set<ArrayBufferLike>();
    const failing: BlobSource = {
      ...countingBlobs(1),
      open: async (_digest, _signal, buffers) =>
        (async function* () {
          yield (buffers?.() ?? Buffer.alloc(1)).subarray(0, 1);
          throw new Error('the line was cut');
        })(),
    };
    for (let time = 0; time < 10; time += 1) {
      for await (const chunk of streamBlob(countingBlobs(5), BLOB)) {
        memory.add(chunk.buffer);
        break;
      }
      const failed = Array.fromAsync(streamBlob(failing, BLOB), (chunk) => memory.add(chunk.buffer));
      await expect(failed).rejects.toThrow('the line was cut');
    }
    expect(memory.size).toBeLessThanOrEqual(4);
  });

  it("is read into the reader's own memory, where he has some", async () => {
    const buffers = newBuffers(SIZE);
    const own = new Set([buffers(), buffers(), buffers(), buffers()].map(({ buffer }) => buffer));
    for await (const chunk of streamBlob(countingBlobs(8), BLOB, undefined, buffers))
      expect(own.has(chunk.buffer as ArrayBuffer)).toBe(true);
  });
});
