import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/layout/layout';
import { readBlob } from '#bundles/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { formatChannel } from '#bundles/names';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';
import { readDocuments } from './artifact.ts';
import { releaseReference } from './references.ts';

/** The newest release of a channel in a layout, its signature checked: what the next one counts on from. */
export type PublishedRelease = {
  readonly predicate: ReleasePredicate;
  /** Digest of the payload. */
  readonly digest: Digest;
  /** Subject name to digest: 'bundle/host', 'revocations' ... */
  readonly subjects: ReadonlyMap<string, Digest>;
};

const MAX_STATEMENT_BYTES = 64 << 10;

/** undefined: the channel has none yet. @throws FleetError those of verifyStatement, SCHEMA */
export const readRelease = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
): Promise<PublishedRelease | undefined> => {
  const documents = await readDocuments(layout, releaseReference(channel));
  const files = documents.filter(({ role }) => role === 'release');
  if (files.length === 0) return undefined;
  const envelopes = await Promise.all(
    files.map(({ digest }) => readBlob(layout.blobs, digest, MAX_STATEMENT_BYTES)),
  );
  const what = `the release of ${formatChannel(channel)} in ${layout.directory}`;
  const verified = verifyStatement(envelopes, root.roles.release, PREDICATES.release, what);
  return {
    predicate: parseDocument('release-predicate', verified.predicate, what),
    digest: verified.digest,
    subjects: new Map(verified.subjects.map(({ name, digest }) => [name, digest])),
  };
};
