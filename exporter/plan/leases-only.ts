import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import type { Offer } from '../source/offer.ts';

/**
 * Reduces an offer to leases and roots, for sites that have the releases already; small enough for mail.
 * @param before the present content of the target: a whole medium is not replaced by leases
 * @throws FleetError CHANNEL_MISSING if no channel has a live lease, USAGE
 */
export const leasesOnly = (offer: Offer, before: OpenMedium | undefined): Offer => {
  if (before?.medium && before.medium.bundles.length > 0) {
    throw new FleetError(
      'USAGE',
      `${before.path} is a whole medium, which an export of leases alone would empty`,
      {
        hint: 'Omit --lease-only, which adds the lease to the content; or name an empty folder',
      },
    );
  }
  if (offer.leases.length === 0) {
    const channels = offer.channels.map(({ channel }) => formatChannel(channel));
    throw new FleetError('CHANNEL_MISSING', `there is no live lease of ${nameSome(channels)}`, {
      hint: 'Sign one first: fleet-scheduler lease renew',
    });
  }
  return {
    ...offer,
    documents: offer.documents.filter(({ document: { role } }) => role === 'lease' || role === 'root'),
    channels: [],
    sites: [],
    receipts: [],
  };
};
