import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { LEASE_ARTIFACT, PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { LeasePredicate } from '#bundles/formats/statements/predicates';
import type { VerifiedStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { parseDocument } from '#bundles/json/validate';
import { checkChannel } from '../../load/releases/check-channel.ts';
import { leaseReference } from '../../load/releases/references.ts';

/** The newest lease of a channel in a layout, with its signature verified. */
export type StoredLease = {
  readonly predicate: LeasePredicate;
  /** Payload digest of the release that the lease confirms as current. */
  readonly release: Digest;
  readonly artifact: Descriptor;
  readonly documents: readonly Document[];
  /** The newest root under which the signature verifies. */
  readonly root: TrustRoot;
};

/**
 * @param roots all roots of the fleet, oldest first
 * @returns undefined if the channel never had a lease
 * @throws FleetError UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE if no root accepts it; WRONG_CHANNEL,
 *   SCHEMA, MISSING_BLOB, DIGEST_MISMATCH
 */
export const readLease = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<StoredLease | undefined> => {
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
): Pick<StoredLease, 'predicate' | 'release'> => {
  const release = subjects.find(({ name }) => name === 'release')?.digest;
  if (release === undefined) throw new FleetError('SCHEMA', `${what} names no release`);
  return { predicate: parseDocument('lease-predicate', predicate, what), release };
};
