import { hexOf, shortDigest } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { isRecord } from '#bundles/is-record';
import { SLSA_SUMMARY } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { readDocuments } from './artifact.ts';
import type { promotedTo } from './audit-log.ts';
import { summariesReference } from './references.ts';

export type ReadSummary = Document & { readonly bytes: Buffer };

/**
 * The verification summaries of a promotion. Those of one that was stopped before it was in the log have the same number, and are left out.
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE; the codes of the layout
 */
export const readSummaries = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  { to, number, payload }: Pick<NonNullable<ReturnType<typeof promotedTo>>, 'number' | 'payload' | 'to'>,
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

/** Digests of the statements that a summary follows from. */
const inputsOf = (predicate: unknown): readonly unknown[] => {
  const inputs = isRecord(predicate) ? predicate['inputAttestations'] : undefined;
  return Array.isArray(inputs)
    ? inputs.map((one: unknown) =>
        isRecord(one) && isRecord(one['digest']) ? one['digest']['sha256'] : undefined,
      )
    : [];
};
