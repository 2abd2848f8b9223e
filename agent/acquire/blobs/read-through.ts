import type { BlobSource } from '#bundles/formats/layout/blobs';
import { verifyAll } from '#bundles/formats/layout/verified';
import type { BlobRef } from '#bundles/formats/medium/medium';

/** Reads a blob only to verify it. @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, or the error of the source */
export const readThrough = async (
  blobs: Pick<BlobSource, 'name' | 'open'>,
  { digest, size }: BlobRef,
  signal: AbortSignal,
): Promise<void> => {
  const content = await blobs.open(digest, signal);
  await verifyAll({ digest, size }, content, blobs.name);
};
