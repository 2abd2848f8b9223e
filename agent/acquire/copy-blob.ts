import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { newBuffers } from '#bundles/layout/read-span';
import type { BlobRef } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { readThrough } from './read-through.ts';

/**
 * Into the store, which checks what it is given; which of the two is damaged, only another look at the source can tell.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL, IO
 */
export const copyBlob = async (
  { state, signal }: Pick<Agent, 'state' | 'signal'>,
  blobs: Pick<BlobSource, 'name' | 'open'>,
  { digest, size }: BlobRef,
): Promise<void> => {
  try {
    await state.blobs.write(digest, size, await blobs.open(digest, signal, newBuffers(size)), signal);
  } catch (error) {
    if (!isFleetError(error, 'DIGEST_MISMATCH') && !isFleetError(error, 'SIZE_MISMATCH')) throw error;
    await readThrough(blobs, { digest, size }, signal);
    throw new FleetError('IO', `${blobs.name} gave other bytes the first time than the second`, {
      subject: digest,
      hint: 'Try again; if it stays, take another stick, or look after the disks of the registry',
      cause: error,
    });
  }
};
