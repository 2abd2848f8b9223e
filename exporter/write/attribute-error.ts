import { FleetError } from '#bundles/errors';
import { verified } from '#bundles/formats/layout/verified';
import type { BlobRef } from '#bundles/formats/medium/medium';
import type { Source } from '../source/source.ts';

/**
 * Finds the cause of a failed read-back by reading the source again: a damaged source or a faulty medium.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB if the source is damaged; otherwise IO
 */
export const attributeError = async (
  source: Source,
  blob: BlobRef & { readonly repository: string },
  medium: string,
  signal?: AbortSignal,
): Promise<never> => {
  const stream = source.stream(blob.repository, blob.digest, signal);
  const content = verified(blob.digest, blob.size, stream, source.name);
  while ((await content.next()).done !== true);
  throw new FleetError('IO', `${medium} returned other bytes than were written to it`, {
    subject: blob.digest,
    hint: 'Do not use this medium; use another one',
  });
};
