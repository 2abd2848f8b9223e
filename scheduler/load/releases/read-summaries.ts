import { type Digest, hexOf, shortDigest } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { SLSA_SUMMARY } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { inputsOf } from '#bundles/trust/statements/verification-summary';
import type { Promoted } from '../../model/promotion.ts';
import { readDocuments } from './artifact.ts';
import { summariesReference } from './references.ts';

export type ReadSummary = Document & { readonly bytes: Buffer };

/**
 * The verification summaries of a promotion in the audit log. Summaries of another promotion with the same number, which did not get into the log,
 * are skipped.
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE; the codes of the layout
 */
export const readSummaries = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  { to, number, payload }: Pick<Promoted, 'number' | 'to'> & { readonly payload: Digest },
): Promise<readonly ReadSummary[]> => {
  const summaries: ReadSummary[] = [];
  for (const document of await readDocuments(layout, summariesReference(to, number))) {
    const { digest } = document;
    const bytes = await readBlob(layout.blobs, digest, MAX_STATEMENT_BYTES);
    const what = `the verification summary ${shortDigest(digest)}`;
    const { verified } = verifyUnder([bytes], roots, 'release', SLSA_SUMMARY, what);
    if (inputsOf(verified.predicate).includes(hexOf(payload))) summaries.push({ ...document, bytes });
  }
  return summaries;
};
