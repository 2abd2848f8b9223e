import type { Agent } from '../../store/agent.ts';
import { refsWithSecrets } from './refs-with-secrets.ts';
import { acceptOffer, type Judged, type OfferOptions } from './accept-offer.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { fetchBlobs } from '../blobs/fetch-blobs.ts';
import { fetchSecrets } from './fetch-secrets.ts';
import { desiredPackages } from './desired-packages.ts';
import type { Offer } from './read-offer.ts';
import { firstOf } from '#bundles/formats/layout/first-of';

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
  await proveImages(agent, judged);
  const images = await fetchBlobs(agent, offer.source, wanted.bundles, secrets);
  const packages = await refsWithSecrets(agent, wanted.packages, secrets);
  return { ...judged, ...wanted, packages, images };
};

/** Hands the signed documents of a release to the providers that verify its images themselves. */
const proveImages = async (agent: Agent, { offer, accepted, bundleStatements }: Judged): Promise<void> => {
  const { root, release } = accepted;
  if (!release) return;
  const kept = [...offer.documents.roots, root.bytes];
  const evidence = {
    roots: kept,
    release: release.statement.envelopes,
    bundles: release.bundles.map(({ digest }, index) => ({
      digest,
      envelopes: bundleStatements[index]?.envelopes ?? [],
    })),
    blobs: firstOf(offer.source.blobs, agent.state.blobs),
  };
  for (const { prove } of agent.images) await prove?.(evidence, agent.signal);
};
