import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import type { Offer } from '../source/offer.ts';

/**
 * An offer cut down to what a technician can carry or mail when nothing else has changed: the leases and all roots. The
 * release each is about is at the site already.
 * @param before what the target is filled with: a whole medium is not emptied for a lease
 * @throws FleetError CHANNEL_MISSING where no channel has a live lease, USAGE
 */
export const leasesOnly = (offer: Offer, before: OpenMedium | undefined): Offer => {
  if (before?.medium && before.medium.bundles.length > 0) {
    throw new FleetError('USAGE', `${before.path} is a whole medium, which a lease alone would empty`, {
      hint: 'Leave --lease-only away, then the lease is added to what is there; or give an empty folder',
    });
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
