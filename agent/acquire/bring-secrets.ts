import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/layout/verified';
import { MAX_SEALED_BYTES, type SealedSet } from '#bundles/secrets/secret-set';
import type { Agent } from '../agent.ts';
import { checkAborted } from '../journal/boundary.ts';
import { readPull, savePull } from '../store/pull.ts';
import type { Offer } from './read-offer.ts';

/**
 * Brings the site's sealed secret sets into the store, sealed as they are: all that its statement names, from the offer
 * where they are not here. Nothing is opened. @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, DISK_FULL
 */
export const bringSecrets = async (
  agent: Agent,
  { documents }: Offer,
  sets: readonly SealedSet[],
): Promise<void> => {
  const { blobs } = agent.state;
  if (sets.length === 0) return;
  // What a pull that was cut short has brought stays pinned too.
  savePull(agent.state, [...readPull(agent.state), ...sets.map(({ digest }) => digest)]);
  for (const { digest } of sets) {
    checkAborted(agent.signal);
    if (await isStored(agent, digest)) continue;
    const bytes = await documents.named(digest, 'secrets');
    await blobs.write(digest, bytes.byteLength, bytes, agent.signal);
    agent.onJournal(`acquire ${digest}`);
  }
};

/** Here and sound? A copy that a failing disk has changed is removed, so that a good one can take its place. */
const isStored = async (
  { state: { blobs }, signal }: Agent,
  digest: SealedSet['digest'],
): Promise<boolean> => {
  if ((await blobs.size(digest)) === undefined) return false;
  try {
    await readBlob(blobs, digest, MAX_SEALED_BYTES, signal);
    return true;
  } catch (error) {
    if (!isFleetError(error) || !['DIGEST_MISMATCH', 'SIZE_MISMATCH', 'TOO_LARGE'].includes(error.code))
      throw error;
    await blobs.remove(digest);
    return false;
  }
};
