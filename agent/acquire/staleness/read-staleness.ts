import { formatSeconds } from '#bundles/trust/accept/format-seconds';
import { leaseEnd, validUntil } from '#bundles/trust/accept/is-live-lease';
import { trustedTime } from '#bundles/trust/accept/trusted-time';
import type { ErrorCode } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import type { LeasePredicate, SiteAgent } from '#bundles/formats/statements/predicates';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { readRoot, readStatement, readTrustRow, type StoredStatement } from '../../store/trust.ts';
import { findLease, findOwnEntry } from './find-lease.ts';

export type StaleCause = {
  readonly what: 'root' | 'site' | 'release' | 'lease';
  /** The code with which acceptance would refuse this statement now. */
  readonly code: Extract<ErrorCode, 'ROOT_EXPIRED' | 'EXPIRED' | 'LEASE_MISSING'>;
  readonly since: Timestamp;
  readonly why: string;
  readonly todo: string;
};

/** `since` is the time of the earliest cause. */
export type Staleness = { readonly since: Timestamp; readonly causes: readonly StaleCause[] };

type Here = Pick<Agent, 'state' | 'identity' | 'edge'>;

/**
 * Checks whether the accepted statements still prove that the desired release is the newest (docs/bundle-format.md section 8).
 * Staleness stops nothing that runs. Returns undefined if fresh, or before the first accepted release.
 */
export const readStaleness = ({ state, identity, edge }: Here): Staleness | undefined => {
  const { channel, timeFloor } = readTrustRow(state);
  const release = channel && readStatement(state, 'release', formatChannel(channel));
  const root = readRoot(state);
  if (!channel || !release || !root) return undefined;
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, timeFloor);
  const site = readStatement(state, 'site', '');
  const own = findOwnEntry({ state, identity });
  const lease = findLease({ state, identity })?.lease;
  const name = `release ${release.version} of ${formatChannel(channel)}`;
  const causes = [
    rootEnding(root.expires),
    ending('site', site?.expires, `the statement of site ${identity.site}`, RENEW_SITE),
    releaseEnding(release, lease, name),
    own && leaseEnding(own, lease, release, name),
  ].flatMap((it) => (it && it.end <= now ? [{ ...it.cause, since: formatTime(it.end) }] : []));
  const since = causes.map((cause) => cause.since).toSorted()[0];
  return since === undefined ? undefined : { since, causes };
};

const RENEW = 'ask for a newer release, or a lease of this one, by medium or registry';
const RENEW_SITE = 'ask for a renewed site statement (fleet-scheduler sites renew), by medium or registry';

/** The end of validity of a statement, in the past or future, and the cause of staleness after it. */
type Ending = { readonly end: Date; readonly cause: Omit<StaleCause, 'since'> };

const rootEnding = (end: Date): Ending => {
  const todo = 'ask for a medium with the next trust root';
  const why = `the trust root ended at ${formatTime(end)}`;
  return { end, cause: { what: 'root', code: 'ROOT_EXPIRED', why, todo } };
};

const ending = (
  what: 'site' | 'release',
  expires: Timestamp | undefined,
  name: string,
  todo: string,
): Ending | undefined => {
  if (expires === undefined) return undefined;
  return {
    end: parseTime(expires),
    cause: { what, code: 'EXPIRED', why: `${name} ended at ${expires}`, todo },
  };
};

/** A valid lease extends its release beyond the release's own end. */
const releaseEnding = (
  { expires }: StoredStatement,
  lease: LeasePredicate | undefined,
  name: string,
): Ending | undefined => {
  const renewed = lease && expires !== undefined && lease.expires > expires ? lease : undefined;
  if (!renewed) return ending('release', expires, name, RENEW);
  const why = `${name} ended at ${expires}, and its lease at ${renewed.expires}`;
  return { end: parseTime(renewed.expires), cause: { what: 'release', code: 'EXPIRED', why, todo: RENEW } };
};

/** A new release counts as its own first lease. */
const leaseEnding = (
  { freshness }: SiteAgent,
  lease: LeasePredicate | undefined,
  { issuedAt }: StoredStatement,
  name: string,
): Ending | undefined => {
  if (freshness.mode !== 'lease' || issuedAt === undefined) return undefined;
  const young = validUntil(parseTime(issuedAt), freshness.seconds);
  const leased = lease && leaseEnd(lease, freshness.seconds);
  const end = leased && leased > young ? leased : young;
  const had = lease ? `the last is of ${lease.issuedAt}` : `none has come since it was issued at ${issuedAt}`;
  const age = formatSeconds(freshness.seconds);
  const why = `the site statement requires a lease of ${name} that is at most ${age} old, and ${had}`;
  return {
    end,
    cause: { what: 'lease', code: 'LEASE_MISSING', why, todo: `ask for a fresh lease of ${name}` },
  };
};
