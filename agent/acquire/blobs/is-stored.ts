import type { Descriptor } from '#bundles/formats/layout/manifest';
import { isFleetError } from '#bundles/errors';
import type { Agent } from '../../store/agent.ts';
import { readThrough } from './read-through.ts';

/** True if the store has the blob intact. Reads it through, and removes a corrupt copy so that it can be copied again. */
export const isStored = async (
  { state: { blobs }, signal }: Pick<Agent, 'state' | 'signal'>,
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
): Promise<boolean> => {
  if ((await blobs.size(digest)) === undefined) return false;
  try {
    await readThrough(blobs, { digest, size }, signal);
    return true;
  } catch (error) {
    if (!isFleetError(error, 'DIGEST_MISMATCH') && !isFleetError(error, 'SIZE_MISMATCH')) throw error;
    await blobs.remove(digest);
    return false;
  }
};
