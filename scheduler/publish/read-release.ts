import type { Descriptor } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import { readArtifact } from '#bundles/layout/artifact';
import type { Document } from '#bundles/layout/document';
import { findReference, type Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root';
import { verifyUnder } from '#bundles/trust/verify-under';
import { parseDocument } from '#bundles/validate';
import { checkChannel } from './check-channel.ts';
import { releaseReference } from './references.ts';

/** A release of a channel in a layout, its signature checked: what the next one counts on from. */
export type PublishedRelease = {
  readonly predicate: ReleasePredicate;
  /** Digest of the payload. */
  readonly digest: Digest;
  /** Subject name to digest: 'bundle/host', 'revocations' ... */
  readonly subjects: ReadonlyMap<string, Digest>;
  /** Where it lies, and what came with it. */
  readonly artifact: Descriptor;
  readonly documents: readonly Document[];
  /** The newest root whose keys signed it. */
  readonly root: TrustRoot;
};

/**
 * The newest release of a channel.
 * @param roots all of the fleet, oldest first: what was signed before a rotation is still what the next number follows
 * @returns undefined where the channel has none yet @throws FleetError those of verifyStatement, SCHEMA, WRONG_CHANNEL
 */
export const readRelease = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<PublishedRelease | undefined> => {
  const artifact = findReference(layout, releaseReference(channel));
  return artifact && (await readReleaseArtifact(layout, channel, artifact, roots));
};

/** The release in an artifact; undefined where it holds none. @throws as readRelease */
export const readReleaseArtifact = async (
  layout: Layout,
  channel: Channel,
  artifact: Descriptor,
  roots: readonly TrustRoot[],
): Promise<PublishedRelease | undefined> => {
  const documents = await readArtifact(layout.blobs, artifact, { what: releaseReference(channel) });
  const envelopes = await statementFiles(layout.blobs, documents, 'release');
  if (envelopes.length === 0) return undefined;
  const what = `the release of ${formatChannel(channel)} in ${layout.directory}`;
  const { root, verified } = verifyUnder(envelopes, roots, 'release', PREDICATES.release, what);
  const predicate = parseDocument<ReleasePredicate>('release-predicate', verified.predicate, what);
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
