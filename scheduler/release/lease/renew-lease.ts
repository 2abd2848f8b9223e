import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { LEASE_ARTIFACT, PREDICATES, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { LeasePredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import { addDays, DAY_MS, formatTime, parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { writeArtifact } from '../../load/releases/artifact.ts';
import { rootDocuments } from '../write/write-release.ts';
import { nextNumber } from '../write/number-floors.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import { leaseReference } from '../../load/releases/references.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { signNewer } from '../sign/sign-newer.ts';
import { type StoredLease, readLease } from './read-lease.ts';
import type { Digest } from '#bundles/digest';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { SigningKey } from '#bundles/trust/keys/key';

/** Default lifetime of a lease. It is renewed once a third of its life is over. */
export const LEASE_DAYS = 30;

export type LeaseRenewal = {
  readonly channel: Channel;
  /** The current release of the channel. */
  readonly release: StoredRelease;
  readonly days?: number;
  readonly now: Date;
  /** Renew even if the last lease is not due. */
  readonly anyway?: boolean;
  /** The shortest freshness limit among the channel's agents, in seconds. */
  readonly freshness?: number | undefined;
};

export type RenewedLease = {
  readonly outcome: 'renewed' | 'good';
  readonly predicate: LeasePredicate;
  readonly references: ReadonlyMap<string, Descriptor>;
};

export const hasLease = (layout: Layout, channel: Channel): boolean =>
  findReference(layout, leaseReference(channel)) !== undefined;

/**
 * Signs the next lease of a channel: a statement that its release is still the current one until the lease expires
 * (docs/bundle-format.md section 7). Does nothing if the last lease is not due, unless `anyway` is set.
 * @returns `references`: index entries for the caller to write; empty with outcome 'good'
 * @throws FleetError UNKNOWN_KEY if the newest root does not accept the release's or the lease's key, FROM_FUTURE if the last
 *   lease is newer than the clock, KEY_MISSING
 */
export const renewLease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, release, days = LEASE_DAYS, now, anyway = false, freshness }: LeaseRenewal,
): Promise<RenewedLease> => {
  const { root } = keys;
  if (release.root.version !== root.version) throw outdatedRootError(channel, release, root);
  const last = await readLease(layout, channel, keys.roots);
  if (last && parseTime(last.predicate.issuedAt).getTime() > now.getTime() + DAY_MS)
    throw fromFuture(last, channel);
  if (last && !anyway && !isDue(last, release, root, now, freshness))
    return { outcome: 'good', predicate: last.predicate, references: new Map() };
  const next: LeasePredicate = {
    audience: { fleet: root.fleet, ...channel },
    version: await nextNumber(layout, 'leases', channel, last?.predicate.version),
    issuedAt: formatTime(now),
    expires: formatTime(addDays(now, days)),
    critical: [],
  };
  const key = await keys.key('lease');
  const files = await statementFiles(layout.blobs, release.documents, 'release');
  const { predicate, bytes } = await signNewer(next.version, async (version) => {
    const tried = { ...next, version };
    return { predicate: tried, bytes: await signLease(release.digest, tried, key, files) };
  });
  // Verified as agents do, so that a lease they would reject is never published.
  verifyStatement([bytes], root.roles.lease, PREDICATES.lease, `the new lease of ${formatChannel(channel)}`);
  const claims = {
    mediaType: SIGSTORE_BUNDLE,
    ...channel,
    version: predicate.version,
    about: release.digest,
  };
  const artifact = await writeArtifact(layout, LEASE_ARTIFACT, [
    { role: 'lease', ...claims, bytes },
    ...rootDocuments(keys),
  ]);
  return { outcome: 'renewed', predicate, references: new Map([[leaseReference(channel), artifact]]) };
};

/** Fraction of its life, or of the freshness limit, after which a lease is due: leaves time for three media or failed polls. */
const GONE = 1 / 3;

/** Whether the lease is for another release, is signed under or carries an older root, or has used up its share of life. */
const isDue = (
  { predicate, release, root: signedUnder, documents }: StoredLease,
  current: StoredRelease,
  root: TrustRoot,
  now: Date,
  freshness: number | undefined,
): boolean => {
  if (release !== current.digest || signedUnder.version !== root.version) return true;
  if (!documents.some(({ role, digest }) => role === 'root' && digest === root.digest)) return true;
  const issued = parseTime(predicate.issuedAt).getTime();
  const life = parseTime(predicate.expires).getTime() - issued;
  const fresh = freshness === undefined ? life : Math.min(life, freshness * 1000);
  return now.getTime() - issued >= fresh * GONE;
};

const outdatedRootError = (channel: Channel, { predicate }: StoredRelease, root: TrustRoot): FleetError =>
  new FleetError(
    'UNKNOWN_KEY',
    `root ${root.version} does not count the keys of release ${predicate.version} of ${formatChannel(channel)}`,
    { hint: 'Sign the release again first: fleet-scheduler releases renew' },
  );

const fromFuture = ({ predicate }: StoredLease, channel: Channel): FleetError =>
  new FleetError(
    'FROM_FUTURE',
    `lease ${predicate.version} of ${formatChannel(channel)} was issued at ${predicate.issuedAt}, which is in the future by the clock of this machine`,
    { hint: 'Set the clock; a lease made now would end too early' },
  );

/**
 * Signs a statement that a release is still the current one of its channel.
 * @param release digest of the release's payload
 * @param releaseFiles signature files of the release: evidence for a remote signer that did not sign it itself
 * @returns the bytes of a sigstore bundle
 */
export const signLease = (
  release: Digest,
  predicate: LeasePredicate,
  key: SigningKey,
  releaseFiles: readonly Uint8Array[],
): Promise<Buffer> =>
  signPayload(
    statementPayload([{ name: 'release', digest: release }], 'lease', predicate),
    key,
    releaseFiles,
  );
