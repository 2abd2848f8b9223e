import type { Agent } from '../agent.ts';
import { acceptOffer } from './accept-offer.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { bringBlobs } from './bring-blobs.ts';
import { desiredPackages } from './desired-packages.ts';
import type { Offer } from './read-offer.ts';

/**
 * Acceptance up to the transaction (docs/bundle-format.md section 8, steps 1 to 8): judges what is offered and brings its
 * blobs into the store. Nothing else changes. @throws FleetError with the code of the attack table, and those of the disk
 */
export const judgeOffer = async (agent: Agent, offer: Offer): Promise<AcceptedOffer> => {
  const judged = await acceptOffer(agent, offer);
  const wanted = await desiredPackages(agent, judged);
  const images = await bringBlobs(agent, offer.source, wanted.bundles);
  return { ...judged, ...wanted, images };
};
