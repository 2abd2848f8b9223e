import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Buffers } from '#bundles/layout/read-span';

/** As those of newBuffers: a buffer is good until three more were taken. */
const RING = 4;
const CHUNK = 512 << 10;
/** Most blobs have no more, and for those there need not be more memory. */
const FIRST = 64 << 10;

/** Those that no reader has now: a stick full of blobs is copied with the memory that a few need. */
const idle: Buffer[] = [];

/** A blob for copying, into buffers that are used again; see Source.stream. @throws what the source throws */
export async function* streamBlob(
  blobs: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const ring: Buffer[] = [];
  let taken = 0;
  const buffers: Buffers = () => {
    const at = taken++;
    if (at === 0) return Buffer.allocUnsafeSlow(FIRST);
    return (ring[at % RING] ??= idle.pop() ?? Buffer.allocUnsafeSlow(CHUNK));
  };
  let last: Uint8Array | undefined;
  for await (const chunk of await blobs.open(digest, signal, buffers)) {
    last = chunk;
    yield chunk;
  }
  // The last chunk may still be on its way to a slow disk, and who reads no further, or failed, may have others: left to them.
  idle.push(...ring.filter((buffer) => buffer.buffer !== last?.buffer));
}
