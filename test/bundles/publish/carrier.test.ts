import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { openCarrier } from '#bundles/publish/carrier';
import type { Shelf } from '#bundles/publish/destination';

const SIZE = 600 << 10;
const BLOBS = Array.from({ length: 20 }, (_, index) => Buffer.alloc(SIZE, index + 1));

/** A disk that reads into the buffers it is given, and tells which. */
const diskOf = (memory: Set<ArrayBufferLike>): BlobSource => ({
  name: 'a disk',
  size: async () => SIZE,
  open: async (wanted, _signal, buffers) =>
    (async function* () {
      const bytes = BLOBS.find((blob) => digestOf(blob) === wanted) as Buffer;
      for (let at = 0; at < bytes.byteLength; ) {
        const buffer = buffers?.() ?? Buffer.alloc(SIZE);
        memory.add(buffer.buffer);
        const count = bytes.copy(buffer, 0, at);
        at += count;
        yield buffer.subarray(0, count);
      }
    })(),
});

/** A repository whose first try of each blob ends after a chunk, where `cuts`; it keeps the chunk and looks at it later. */
const shelfThat = (
  cuts: boolean,
): { readonly shelf: Shelf; readonly kept: (readonly [Uint8Array, number])[] } => {
  const kept: (readonly [Uint8Array, number])[] = [];
  const pushBlob: Shelf['pushBlob'] = async ({ digest, size }, open) => {
    if (cuts)
      for await (const chunk of await open()) {
        kept.push([chunk, chunk[0] ?? 0]);
        break;
      }
    // As an upload does: as many bytes as were announced, and no question behind them.
    const content = (await open())[Symbol.asyncIterator]();
    const chunks: Buffer[] = [];
    for (let left = size; left > 0; left -= chunks.at(-1)?.byteLength ?? 0)
      chunks.push(Buffer.from((await content.next()).value ?? []));
    expect(digestOf(Buffer.concat(chunks))).toBe(digest);
    return 'uploaded';
  };
  return { shelf: { pushBlob } as Shelf, kept };
};

const bringAll = async (blobs: BlobSource, shelf: Shelf): Promise<void> => {
  const { bring } = openCarrier(blobs);
  const { signal } = new AbortController();
  for (const blob of BLOBS) {
    const descriptor = { mediaType: 'application/octet-stream', digest: digestOf(blob), size: SIZE };
    expect(await bring({ path: 'a', shelf }, descriptor, signal)).toBe('uploaded');
  }
};

describe('blobs on their way into repositories', () => {
  it('are read with the memory of those that have arrived', async () => {
    const memory = new Set<ArrayBufferLike>();
    await bringAll(diskOf(memory), shelfThat(false).shelf);
    expect(memory.size).toBe(4);
  });

  it('leave the memory of a try alone that came to nothing: it may still be on its way', async () => {
    const { shelf, kept } = shelfThat(true);
    await bringAll(diskOf(new Set()), shelf);
    expect(kept).toHaveLength(BLOBS.length);
    for (const [chunk, first] of kept) expect(chunk[0]).toBe(first);
  });
});
