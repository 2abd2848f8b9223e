import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { StoredRelease } from '../../../load/releases/read-release.ts';

/**
 * The statement about a bundle that a release carries, verified under a root.
 * @throws FleetError UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, SUBJECT_MISMATCH, SCHEMA
 */
export const readBundleStatement = async (
  layout: Layout,
  { documents }: Pick<StoredRelease, 'documents'>,
  bundle: Digest,
  root: TrustRoot,
): Promise<BundlePredicate> => {
  const what = `the statement of bundle ${shortDigest(bundle)}`;
  const envelopes = await statementFiles(layout.blobs, documents, 'bundle', bundle);
  const verified = verifyStatement(envelopes, root.roles.bundle, PREDICATES.bundle, what);
  if (!verified.subjects.some(({ digest }) => digest === bundle))
    throw new FleetError('SUBJECT_MISMATCH', `${what} is about another bundle`, { subject: bundle });
  return parseDocument('bundle-predicate', verified.predicate, what);
};
