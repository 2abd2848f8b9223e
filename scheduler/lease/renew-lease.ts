import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import { findReference, type Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { LEASE_ARTIFACT, PREDICATES, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { LeasePredicate } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import { addDays, DAY_MS, formatTime, parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root';
import { writeArtifact } from '../publish/artifact.ts';
import { rootDocuments } from '../publish/publish-release.ts';
import type { PublishedRelease } from '../publish/read-release.ts';
import { leaseReference } from '../publish/references.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { signNewer } from '../sign/sign-newer.ts';
import { type PublishedLease, readLease } from './read-lease.ts';
import { signLease } from './sign-lease.ts';

/** How long a lease lasts unless somebody says otherwise; renewed when a third of that is gone. */
export const LEASE_DAYS = 30;

export type LeaseRenewal = {
  readonly channel: Channel;
  /** The current one. */
  readonly release: PublishedRelease;
  readonly days?: number;
  readonly now: Date;
  /** Also where the last one is good for long. */
  readonly anyway?: boolean;
  /** The shortest freshness that agents of the channel are held to, in seconds. */
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
 * The next lease of a channel: the release it has is still the current one, until then (docs/bundle-format.md section 7).
 * @throws FleetError UNKNOWN_KEY where the newest root does not count the release or the lease key; FROM_FUTURE, KEY_MISSING
 */
export const renewLease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, release, days = LEASE_DAYS, now, anyway = false, freshness }: LeaseRenewal,
): Promise<RenewedLease> => {
  const { root } = keys;
  if (release.root.version !== root.version) throw leftBehind(channel, release, root);
  const last = await readLease(layout, channel, keys.roots);
  if (last && parseTime(last.predicate.issuedAt).getTime() > now.getTime() + DAY_MS)
    throw fromFuture(last, channel);
  if (last && !anyway && !isDue(last, release, root, now, freshness))
    return { outcome: 'good', predicate: last.predicate, references: new Map() };
  const next: LeasePredicate = {
    audience: { fleet: root.fleet, ...channel },
    version: (last?.predicate.version ?? 0) + 1,
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
  // What no agent would take is not handed out.
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

/** Of its life, or of what agents take for fresh, what may be gone: time for three sticks, or three failed polls. */
const GONE = 1 / 3;

const isDue = (
  { predicate, release, root: signedUnder, documents }: PublishedLease,
  current: PublishedRelease,
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

const leftBehind = (channel: Channel, { predicate }: PublishedRelease, root: TrustRoot): FleetError =>
  new FleetError(
    'UNKNOWN_KEY',
    `root ${root.version} does not count the keys of release ${predicate.version} of ${formatChannel(channel)}`,
    { hint: 'Sign the release anew first: fleet-scheduler releases renew' },
  );

const fromFuture = ({ predicate }: PublishedLease, channel: Channel): FleetError =>
  new FleetError(
    'FROM_FUTURE',
    `lease ${predicate.version} of ${formatChannel(channel)} was issued at ${predicate.issuedAt}, which this machine's clock says is to come`,
    { hint: 'Set the clock; a lease made now would end too early' },
  );
