import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { type Buffers, newBuffers } from '#bundles/layout/read-span';

/** Those of blobs that are over: a stick full of them is copied with the memory that one needs, or as many as are copied at once. */
const idle: Buffers[] = [];

/** A blob for copying; see Source.stream. @throws what the source throws */
export async function* streamBlob(
  blobs: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
  buffers?: Buffers,
): AsyncGenerator<Uint8Array> {
  if (buffers) {
    yield* await blobs.open(digest, signal, buffers);
    return;
  }
  const own = idle.pop() ?? newBuffers();
  try {
    yield* await blobs.open(digest, signal, own);
  } finally {
    idle.push(own);
  }
}
