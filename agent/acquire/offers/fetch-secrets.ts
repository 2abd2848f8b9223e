import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_SEALED_BYTES, type SealedSet } from '#bundles/trust/secrets/secret-set';
import type { Agent } from '../../store/agent.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { readPull, savePull } from '../../store/pull.ts';
import type { Offer } from './read-offer.ts';

/**
 * Copies all sealed secret sets that the site statement names and the store lacks from the offer into the store, without
 * opening them. @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, DISK_FULL
 */
export const fetchSecrets = async (
  agent: Agent,
  { documents }: Offer,
  sets: readonly SealedSet[],
): Promise<void> => {
  const { blobs } = agent.state;
  if (sets.length === 0) return;
  // Blobs of an interrupted pull stay pinned, too.
  savePull(agent.state, [...readPull(agent.state), ...sets.map(({ digest }) => digest)]);
  for (const { digest } of sets) {
    checkAborted(agent.signal);
    if (await isStored(agent, digest)) continue;
    const bytes = await documents.named(digest, 'secrets');
    await blobs.write(digest, bytes.byteLength, bytes, agent.signal);
    agent.onJournal(`acquire ${digest}`);
  }
};

/** True if the store has the set intact. Removes a corrupt copy so that it can be copied again. */
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
