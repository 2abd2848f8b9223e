import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { FleetError, isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { formatChannel } from '#bundles/names';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { parseAs } from '#bundles/json/parse-as';
import { RELEASE_PREDICATE } from '#bundles/json/schema/validators';
import type { Offer } from '../offer.ts';

/**
 * Refuses to replace a newer release on a medium by an older one: a site may have imported the newer one and would refuse
 * the older. Only signed releases count, not the unsigned numbers in the table of contents.
 * @throws FleetError WRONG_FLEET, ROLLBACK
 */
export const checkTarget = async ({ path, medium, blobs }: OpenMedium, offer: Offer): Promise<void> => {
  if (!medium) return;
  if (medium.fleet !== offer.root.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `${path} is a medium of fleet ${medium.fleet}, not ${offer.root.fleet}`,
      {
        hint: 'Use another stick, or empty this one',
      },
    );
  }
  for (const { channel, version } of offer.channels) {
    const there = await signedVersion({ medium, blobs }, offer, channel);
    if (there === undefined || there <= version) continue;
    throw new FleetError(
      'ROLLBACK',
      `${path} carries release ${there} of ${formatChannel(channel)}, the source has only ${version}`,
      { hint: 'Build or fetch the newest release, or give an empty folder' },
    );
  }
};

const signedVersion = async (
  { medium, blobs }: Required<Pick<OpenMedium, 'medium' | 'blobs'>>,
  offer: Offer,
  channel: Offer['channels'][number]['channel'],
): Promise<number | undefined> => {
  try {
    const documents = await readChannelDocuments(blobs, medium?.documents ?? [], '');
    const envelopes = await documents.release(channel);
    const what = 'the release on the medium';
    const { predicate } = verifyStatement(envelopes, offer.root.roles.release, PREDICATES.release, what);
    const { audience, version } = parseAs(RELEASE_PREDICATE, predicate, what);
    return formatChannel(audience) === formatChannel(channel) ? version : undefined;
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
