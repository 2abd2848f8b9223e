import { hexOf, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, type Layout, layoutReference } from '#bundles/formats/layout/layout';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { parseTime } from '#bundles/time';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { readDocuments } from './artifact.ts';
import { bundlesOf, type StoredRelease } from './read-release.ts';

/**
 * Reference of the newest statement about a bundle that a later candidate gave again: the same content needs no new release, and the
 * statement says what it was made from. It stays in the layout and is never published.
 */
export const restatedReference = (channel: Channel, bundle: Digest): string =>
  layoutReference(channelRepository(channel), `restated-${hexOf(bundle)}`);

/** A release with its newest statement. `restated`: that one was signed after the release. */
export type StatedRelease = StoredRelease & { readonly restated: boolean };

/**
 * The release with the newest statement about its bundle in the place of its own, if the content was given again since by another
 * candidate. A statement that the release's root does not accept counts for nothing.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, LAYOUT_INVALID
 */
export const withNewestStatement = async (layout: Layout, release: StoredRelease): Promise<StatedRelease> => {
  const own = { ...release, restated: false };
  const [bundle, more] = bundlesOf(release);
  if (bundle === undefined || more !== undefined) return own;
  const reference = restatedReference(release.predicate.audience, bundle);
  if (!findReference(layout, reference)) return own;
  const documents = await readDocuments(layout, reference);
  const [mine, newer] = [
    await readStatement(layout, release, release.documents, bundle),
    await readStatement(layout, release, documents, bundle),
  ];
  if (!newer || (mine && parseTime(newer.builtAt) < parseTime(mine.builtAt))) return own;
  const others = release.documents.filter(({ role }) => role !== 'bundle' && role !== 'candidate');
  return { ...release, documents: [...others, ...documents], restated: true };
};

/** undefined if the signatures are not enough under the root of the release, or it is about another channel. */
export const readStatement = async (
  layout: Layout,
  { root, predicate: { audience } }: StoredRelease,
  documents: readonly Document[],
  bundle: Digest,
): Promise<BundlePredicate | undefined> => {
  const files = await statementFiles(layout.blobs, documents, 'bundle', bundle);
  const what = `the newest statement of bundle ${bundle}`;
  try {
    const { predicate, subjects } = verifyStatement(files, root.roles.bundle, PREDICATES.bundle, what);
    const said = parseDocument('bundle-predicate', predicate, what);
    const isOurs =
      said.fleet === audience.fleet &&
      said.environment === audience.environment &&
      said.clusterType === audience.clusterType &&
      subjects.some(({ digest }) => digest === bundle);
    return isOurs ? said : undefined;
  } catch (error) {
    if (error instanceof FleetError) return undefined;
    throw error;
  }
};
