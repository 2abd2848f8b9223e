import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { type Channel, formatChannel } from '../../names.ts';
import type { TrustRoot } from '../root/root.ts';
import { acceptLease, type JudgedLeases } from './accept-lease.ts';
import { type AcceptedRelease, acceptRelease, describeSkipped, releaseFloor } from './accept-release.ts';
import { acceptRoot } from './accept-root.ts';
import { type AcceptedSite, acceptSite } from './accept-site.ts';
import type { ChannelDocuments } from './documents.ts';
import { formatSeconds } from './format-seconds.ts';
import { isLiveLease, validUntil } from './is-live-lease.ts';
import { isSelected } from './is-selected.ts';
import type { AcceptedLease } from './judge-lease.ts';
import { keptUnder } from './kept-under.ts';
import { leaseTime } from './lease-time.ts';
import { nextTimeFloor } from './next-time-floor.ts';
import { timeFloorUnder } from './time-floor-under.ts';
import type { AcceptPolicy, Clock, TrustState } from './trust-state.ts';
import { trustedTime } from './trusted-time.ts';

/** All changes of one accepted import. The caller stores them in one transaction. */
export type Accepted = {
  readonly root: TrustRoot;
  readonly site: AcceptedSite;
  /** undefined: the source brings no release for this agent's channel (an enrolment answer). */
  readonly release: AcceptedRelease | undefined;
  /** The lease of the release that is in force, offered now or before. */
  readonly lease: AcceptedLease | undefined;
  /** Number of leases of a registry that were rejected. */
  readonly skippedLeases: number;
  /** Expired documents that were accepted because of a break-glass override; otherwise empty. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
  /** false: the rollout leaves this agent where it is. */
  readonly selected: boolean;
  /** The time floor from now on; earlier than the one before if the statement that set that was revoked by a new root. */
  readonly time: Date;
};

/**
 * The acceptance algorithm (docs/bundle-format.md section 8): root chain, time, site, release and its lease, bundle statements. Reads
 * documents only, changes nothing, and is the same for a medium and a registry.
 * @throws FleetError with the code of the attack table
 */
export const acceptChannel = async (
  state: TrustState,
  documents: ChannelDocuments,
  clock: Clock,
  policy: AcceptPolicy,
): Promise<Accepted> => {
  const root = acceptRoot(state, documents.roots, clock);
  const floor = timeFloorUnder(state, root);
  const site = await acceptSite({ ...state, time: floor }, root, documents, clock, policy);
  // The time that the site statement proves also applies to the release, independent of the clock.
  const proven = nextTimeFloor(floor, root, site.issued);
  const { channel } = site.agent;
  const offered = documents.claimedChannels.map(formatChannel).includes(formatChannel(channel));
  checkOtherChannels(documents, channel);
  const judging = { ...state, time: proven };
  const release = offered
    ? await acceptRelease(judging, root, documents, channel, site.predicate.version, clock, policy)
    : undefined;
  const leases = release
    ? release.leases
    : await acceptLease(judging, root, documents, channel, standing(state, root, channel), clock, policy);
  const { lease, skipped } = leases;
  const time = leaseTime(release ? nextTimeFloor(proven, root, release.issued) : proven, root, lease);
  const unleased = release?.news === 'newer' && !isFresh(site, release, lease, trustedTime(clock, time));
  if (unleased && policy.acceptExpired !== true) throw leaseMissing(channel, release, leases, site);
  return {
    root,
    site,
    release,
    lease,
    skippedLeases: skipped.length,
    relaxed: [
      ...(site.ended ? (['site'] as const) : []),
      ...(release?.ended ? (['release'] as const) : []),
      ...(unleased ? (['lease'] as const) : []),
    ],
    selected: release !== undefined && isSelected(release.predicate.rollout, state, site.agent.labels),
    time: time ?? proven,
  };
};

/** @throws FleetError WRONG_CHANNEL for a source with content for other channels only */
const checkOtherChannels = (documents: ChannelDocuments, channel: Channel): void => {
  const claimed = [...documents.claimedChannels, ...documents.leasedChannels].map(formatChannel);
  if (claimed.length === 0 || claimed.includes(formatChannel(channel)) || documents.site.length > 0) return;
  throw new FleetError(
    'WRONG_CHANNEL',
    `this is for ${[...new Set(claimed)].slice(0, 5).join(', ')}, this agent follows ${formatChannel(channel)}`,
  );
};

/** The release that stays in force if the source has none. */
const standing = (state: TrustState, root: TrustRoot, channel: Channel): Digest | undefined =>
  keptUnder(releaseFloor(state, channel), root.roles.release, PREDICATES.release)?.digest;

/** Whether the release is as fresh as the site statement requires: a young one is its own first lease. */
const isFresh = (
  { agent: { freshness } }: AcceptedSite,
  { issued }: AcceptedRelease,
  lease: AcceptedLease | undefined,
  time: Date,
): boolean => {
  if (freshness.mode === 'release' || time < validUntil(issued, freshness.seconds)) return true;
  return lease !== undefined && isLiveLease(lease.predicate, time, freshness.seconds);
};

const leaseMissing = (
  channel: Channel,
  { predicate }: AcceptedRelease,
  leases: JudgedLeases,
  { agent: { freshness } }: AcceptedSite,
): FleetError => {
  const most = freshness.mode === 'lease' ? formatSeconds(freshness.seconds) : 'that';
  const { lease } = leases;
  const had = lease
    ? `its lease was issued at ${lease.predicate.issuedAt} and ends at ${lease.predicate.expires}`
    : 'there is no lease of it here';
  return new FleetError(
    'LEASE_MISSING',
    `the site statement requires a lease of the release of ${formatChannel(channel)} that is at most ${most} old; the release was issued at ${predicate.issuedAt}, and ${had}${describeSkipped(leases)}`,
    { hint: 'Ask for a medium with a fresh lease, or a newer release; running packages continue' },
  );
};
