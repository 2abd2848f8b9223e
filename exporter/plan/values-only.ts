import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import type { Offer } from '../source/offer.ts';

/** Documents that bring new values, labels or secrets to agents that have the release. */
const ROLES: ReadonlySet<string> = new Set(['root', 'site', 'site-values', 'secrets', 'lease']);

/**
 * Reduces an offer to the statements, values and secrets of its sites, for sites that have the releases already; small enough for mail.
 * @param before the present content of the target: a whole medium is not replaced by values
 * @throws FleetError USAGE
 */
export const valuesOnly = (offer: Offer, before: OpenMedium | undefined): Offer => {
  if (before?.medium && before.medium.bundles.length > 0)
    throw new FleetError(
      'USAGE',
      `${before.path} is a whole medium, which an export of values alone would empty`,
      { hint: 'Omit --values-only, which adds the values to the content; or name an empty folder' },
    );
  if (offer.sites.length === 0)
    throw new FleetError('USAGE', 'values are those of a site, and no site is given', {
      hint: 'Name it: --site plant-7',
    });
  return {
    ...offer,
    documents: offer.documents.filter(({ document: { role } }) => ROLES.has(role)),
    channels: [],
    receipts: [],
  };
};
