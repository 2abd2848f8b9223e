import { type ChannelDocuments, readChannelDocuments } from '#bundles/trust/accept/documents';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isUnmounted } from '#bundles/formats/medium/check-mounted';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import type { Agent } from '../../store/agent.ts';
import { keptBlobs } from '../blobs/kept-blobs.ts';
import type { Source } from '../blobs/source.ts';

/** The unverified documents and blobs that a source offers this agent. */
export type Offer = {
  readonly source: Source;
  readonly documents: ChannelDocuments;
  /** For a registry, its tags and the manifests that they named when read. Empty for other sources. */
  readonly pointers: ReadonlyMap<string, Digest>;
};

/**
 * Reads the offer of a medium.
 * @throws FleetError MEDIUM_EMPTY, MEDIUM_MISSING, WRONG_FLEET, TOO_MANY, TOO_LARGE, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const readOffer = async (
  { identity, state }: Pick<Agent, 'identity' | 'state'>,
  medium: OpenMedium,
): Promise<Offer> => {
  const contents = medium.medium;
  if (!contents) {
    if (await isUnmounted(medium.path))
      throw new FleetError('MEDIUM_MISSING', `${medium.path} holds no medium, and nothing is mounted there`, {
        hint: 'Check that the stick is mounted',
      });
    throw new FleetError('MEDIUM_EMPTY', `${medium.path} was not filled by fleet-export`, {
      hint: 'Name the top folder of the stick; if this is it, take the stick to the platform team: requests and reports on it stay',
    });
  }
  // Unverified, used only for a clear message: a medium with a false fleet name is refused because of its root.
  if (contents.fleet !== identity.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `${medium.path} is a medium of fleet ${contents.fleet}, and this machine belongs to ${identity.fleet}`,
      { hint: 'Use the stick that was made for this fleet' },
    );
  }
  const documents = await readChannelDocuments(medium.blobs, contents.documents, identity.site);
  const blobs = medium.parts ? keptBlobs(medium, medium.parts, state.blobs) : medium.blobs;
  return { source: { blobs, medium }, documents, pointers: new Map() };
};
