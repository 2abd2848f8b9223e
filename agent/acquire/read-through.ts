import type { BlobSource } from '#bundles/layout/blobs';
import { newBuffers } from '#bundles/layout/read-span';
import { verified } from '#bundles/layout/verified';
import type { BlobRef } from '#bundles/medium/medium';

/** Reads a blob for its digest alone. @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, and of the source */
export const readThrough = async (
  blobs: Pick<BlobSource, 'name' | 'open'>,
  { digest, size }: BlobRef,
  signal: AbortSignal,
): Promise<void> => {
  const content = await blobs.open(digest, signal, newBuffers(size));
  for await (const chunk of verified(digest, size, content, blobs.name)) void chunk;
};
