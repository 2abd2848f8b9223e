import type { Agent } from '../../store/agent.ts';
import { refsWithSecrets } from './refs-with-secrets.ts';
import { acceptOffer, type OfferOptions } from './accept-offer.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { fetchBlobs } from '../blobs/fetch-blobs.ts';
import { fetchSecrets } from './fetch-secrets.ts';
import { desiredPackages } from './desired-packages.ts';
import type { Offer } from './read-offer.ts';

/**
 * Acceptance up to the transaction (docs/bundle-format.md section 8, steps 1 to 8): judges the offer and copies its blobs.
 * Changes nothing else. @throws FleetError with the code of the attack table, DISK_FULL or IO
 */
export const judgeOffer = async (
  agent: Agent,
  offer: Offer,
  how: OfferOptions = {},
): Promise<AcceptedOffer> => {
  const judged = await acceptOffer(agent, offer, how);
  const wanted = await desiredPackages(agent, judged);
  const { secrets } = judged.accepted.site;
  // Secrets are small and come first: a medium without them is refused before gigabytes are copied.
  await fetchSecrets(agent, offer, secrets);
  const images = await fetchBlobs(agent, offer.source, wanted.bundles, secrets);
  const packages = await refsWithSecrets(agent, wanted.packages, secrets);
  return { ...judged, ...wanted, packages, images };
};
