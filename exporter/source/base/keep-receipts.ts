import { compareBytes, type Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import { readBlob } from '#bundles/formats/layout/verified';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import type { Offer, OfferedReceipt } from '../offer.ts';

export type KeptReceipts = { readonly offer: Offer; readonly bytes: ReadonlyMap<Digest, Buffer> };

/**
 * Keeps the receipts that the hub wrote to this medium when it imported the reports: filling the medium again must not lose
 * them before the agents read them. Drops receipts that do not verify, and those older than a receipt of the source.
 */
export const keepReceipts = async (media: readonly OpenMedium[], offer: Offer): Promise<KeptReceipts> => {
  const bytes = new Map<Digest, Buffer>();
  const receipts: OfferedReceipt[] = [];
  const documents: Document[] = [];
  const known = (agent: string): number =>
    Math.max(0, ...offer.receipts.filter((one) => one.agent === agent).map(({ to }) => to));
  const isOffered = (digest: Digest): boolean => offer.receipts.some((one) => one.digest === digest);
  const there = media.flatMap(({ medium, blobs }) =>
    (medium?.documents ?? []).map((document) => ({ document, blobs })),
  );
  for (const { document, blobs } of there) {
    const { role, agent, digest } = document;
    if (role !== 'receipt' || agent === undefined || isOffered(digest) || bytes.has(digest)) continue;
    try {
      const found = await readBlob(blobs, digest, MAX_STATEMENT_BYTES);
      const { to } = verifyReceipt(found, offer.root, agent);
      if (to <= known(agent)) continue;
      bytes.set(digest, found);
      receipts.push({ agent, digest, to });
      documents.push(document);
    } catch (error) {
      if (!isFleetError(error)) throw error;
    }
  }
  const kept = documents
    .toSorted((a, b) => compareBytes(a.digest, b.digest))
    .map((document) => ({ document, repository: '' }));
  return {
    offer: {
      ...offer,
      documents: [...offer.documents, ...kept],
      receipts: [...offer.receipts, ...receipts],
    },
    bytes,
  };
};
