import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';

/** A blob for copying (Source.stream), opened when its first chunk is read. @throws FleetError of the source */
export async function* streamBlob(
  blobs: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* await blobs.open(digest, signal);
}
