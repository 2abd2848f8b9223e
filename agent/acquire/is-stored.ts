import type { Descriptor } from '#bundles/bundle/manifest';
import { isFleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { readThrough } from './read-through.ts';

/** Here and sound? A copy that a failing disk has changed is removed, so that a good one can take its place. */
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
