import { type Digest, shortDigest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import type { Timestamp } from '#bundles/time';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { bundlesOf, type StoredRelease } from './read-release.ts';

/** The candidate that a release was made from, and its shared digest. */
export type Lineage = { readonly candidate: Digest; readonly shared: Digest };

export type ReleaseLineage = Lineage & {
  /** Assignments whose package in the release is not from this candidate: an older one, or none. */
  readonly held: BundlePredicate['held'];
  readonly builtAt: Timestamp;
};

/**
 * Reads from the signed bundle statements what a release was made from.
 * @returns undefined if its bundles are of different candidates, or of a version that does not say it
 * @throws FleetError UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, SCHEMA, MISSING_BLOB
 */
export const readLineage = async (
  layout: Layout,
  release: StoredRelease,
): Promise<ReleaseLineage | undefined> => {
  const { documents, root } = release;
  const all = await Promise.all(
    bundlesOf(release).map(async (bundle) => {
      const what = `the statement of bundle ${shortDigest(bundle)}`;
      const files = await statementFiles(layout.blobs, documents, 'bundle', bundle);
      const { predicate } = verifyStatement(files, root.roles.bundle, PREDICATES.bundle, what);
      return parseDocument('bundle-predicate', predicate, what);
    }),
  );
  const [first] = all;
  if (first?.shared === undefined || all.some(({ shared }) => shared !== first.shared)) return undefined;
  const { candidate, shared, builtAt } = first;
  return { candidate, shared, builtAt, held: all.flatMap(({ held }) => held) };
};
