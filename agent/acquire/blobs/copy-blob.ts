import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { BlobRef } from '#bundles/formats/medium/medium';
import type { Agent } from '../../store/agent.ts';
import { continueBlob } from './continue-blob.ts';
import { readThrough } from './read-through.ts';

/**
 * Copies a blob into the store, which verifies it. On a mismatch the source is read again, to tell a damaged blob from an
 * unreliable source.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL, IO
 */
export const copyBlob = async (
  { state, signal }: Pick<Agent, 'state' | 'signal'>,
  blobs: Pick<BlobSource, 'name' | 'open' | 'openFrom'>,
  { digest, size }: BlobRef,
): Promise<void> => {
  try {
    const { openFrom } = blobs;
    if (openFrom) await continueBlob(state, { name: blobs.name, openFrom }, { digest, size }, signal);
    else await state.blobs.write(digest, size, await blobs.open(digest, signal), signal);
  } catch (error) {
    if (!isFleetError(error, 'DIGEST_MISMATCH') && !isFleetError(error, 'SIZE_MISMATCH')) throw error;
    await readThrough(blobs, { digest, size }, signal);
    throw new FleetError('IO', `${blobs.name} gave different bytes when read again`, {
      subject: digest,
      hint: 'Try again; if it fails again, use another medium, or check the disks of the registry',
      cause: error,
    });
  }
};
