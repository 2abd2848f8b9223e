import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import { readArtifact } from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { ReleasePredicate } from '#bundles/formats/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { parseDocument } from '#bundles/json/validate';
import { checkChannel } from './check-channel.ts';
import { releaseReference } from './references.ts';

/** A verified release of a channel in a layout: the base of the next one. */
export type StoredRelease = {
  readonly predicate: ReleasePredicate;
  /** Digest of the payload. */
  readonly digest: Digest;
  /** Subject name to digest: 'bundle/host', 'revocations' ... */
  readonly subjects: ReadonlyMap<string, Digest>;
  /** Descriptor of the release artifact. */
  readonly artifact: Descriptor;
  readonly documents: readonly Document[];
  /** The newest root whose keys signed it. */
  readonly root: TrustRoot;
};

/** Digests of the bundles that a release names. */
export const bundlesOf = ({ subjects }: Pick<StoredRelease, 'subjects'>): readonly Digest[] =>
  [...subjects].flatMap(([name, digest]) => (name.startsWith('bundle/') ? [digest] : []));

/**
 * The newest release of a channel in a layout.
 * @param roots all roots of the fleet, oldest first: the numbering continues across a rotation
 * @returns undefined when the channel has no release
 * @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, LAYOUT_INVALID, UNSIGNED, TOO_MANY, UNKNOWN_KEY,
 * BAD_SIGNATURE, PAYLOAD_MISMATCH, THRESHOLD, PREDICATE_TYPE, PAYLOAD_TYPE, BUNDLE_FORMAT, BAD_JSON, TOO_DEEP, SCHEMA,
 * WRONG_CHANNEL
 */
export const readRelease = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<StoredRelease | undefined> => {
  const artifact = findReference(layout, releaseReference(channel));
  return artifact && (await readReleaseArtifact(layout, channel, artifact, roots));
};

/** The release in an artifact; undefined when it contains none. @throws FleetError with the codes of readRelease */
export const readReleaseArtifact = async (
  layout: Layout,
  channel: Channel,
  artifact: Descriptor,
  roots: readonly TrustRoot[],
): Promise<StoredRelease | undefined> => {
  const documents = await readArtifact(layout.blobs, artifact, { what: releaseReference(channel) });
  const envelopes = await statementFiles(layout.blobs, documents, 'release');
  if (envelopes.length === 0) return undefined;
  const what = `the release of ${formatChannel(channel)} in ${layout.directory}`;
  const { root, verified } = verifyUnder(envelopes, roots, 'release', PREDICATES.release, what);
  const predicate = parseDocument('release-predicate', verified.predicate, what);
  checkChannel(predicate.audience, channel, what);
  return {
    predicate,
    digest: verified.digest,
    subjects: new Map(verified.subjects.map(({ name, digest }) => [name, digest])),
    artifact,
    documents,
    root,
  };
};
