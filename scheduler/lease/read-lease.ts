import type { Descriptor } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/layout/artifact';
import type { Document } from '#bundles/layout/document';
import { findReference, type Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { LEASE_ARTIFACT, PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { LeasePredicate } from '#bundles/statements/predicates';
import type { VerifiedStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import { verifyUnder } from '#bundles/trust/verify-under';
import { parseDocument } from '#bundles/validate';
import { checkChannel } from '../publish/check-channel.ts';
import { leaseReference } from '../publish/references.ts';

/** The newest lease of a channel in a layout, its signature checked. */
export type PublishedLease = {
  readonly predicate: LeasePredicate;
  /** Payload of the release that it says is still the current one. */
  readonly release: Digest;
  readonly artifact: Descriptor;
  readonly documents: readonly Document[];
  /** The newest root whose keys signed it. */
  readonly root: TrustRoot;
};

/**
 * @param roots all of the fleet, oldest first @returns undefined where the channel never had one
 * @throws FleetError those of verifyStatement, SCHEMA, WRONG_CHANNEL
 */
export const readLease = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<PublishedLease | undefined> => {
  const artifact = findReference(layout, leaseReference(channel));
  if (!artifact) return undefined;
  const what = `the lease of ${formatChannel(channel)} in ${layout.directory}`;
  const documents = await readArtifact(layout.blobs, artifact, { what, type: LEASE_ARTIFACT });
  const envelopes = await statementFiles(layout.blobs, documents, 'lease');
  const { root, verified } = verifyUnder(envelopes, roots, 'lease', PREDICATES.lease, what);
  const { predicate, release } = parseLease(verified, what);
  checkChannel(predicate.audience, channel, what);
  return { predicate, release, artifact, documents, root };
};

/** @throws FleetError SCHEMA */
const parseLease = (
  { predicate, subjects }: VerifiedStatement,
  what: string,
): Pick<PublishedLease, 'predicate' | 'release'> => {
  const release = subjects.find(({ name }) => name === 'release')?.digest;
  if (release === undefined) throw new FleetError('SCHEMA', `${what} names no release`);
  return { predicate: parseDocument<LeasePredicate>('lease-predicate', predicate, what), release };
};
