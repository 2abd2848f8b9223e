import { isLiveLease, leaseEnd } from '#bundles/accept/is-live-lease';
import { trustedTime } from '#bundles/accept/trusted-time';
import type { Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { DAY_MS, formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Agent } from '../agent.ts';
import type { CheckResult, Drift } from '../apply/target.ts';
import { sayLeaving } from '../apply/say-leaving.ts';
import { unknownHealth } from '../apply/unknown-health.ts';
import type { Config } from '../config/config.ts';
import type { Contact } from '../daemon/contact.ts';
import { readNote } from '../daemon/note.ts';
import { parseWindows } from '../daemon/windows.ts';
import { nameOf } from '../journal/name-of.ts';
import { openOperation } from '../journal/operations.ts';
import { type OutboxSize, outboxSize } from '../report/outbox.ts';
import { findLease } from '../staleness/find-lease.ts';
import { readStaleness, type Staleness } from '../staleness/read-staleness.ts';
import { findAttempt, HEALTH, isDue, REMOVAL, tryOf } from '../store/attempts.ts';
import { type BrokenGlass, readCondition, type WaitingForParts } from '../store/conditions.ts';
import { findFailure } from '../store/failures.ts';
import { fullName } from '../store/identity.ts';
import { readLeaving } from '../store/inventory.ts';
import { isSame, type PackageRef } from '../store/package-ref.ts';
import { isHalfRemoved, type PackageRow, type PackageStatus, readPackages } from '../store/packages.ts';
import { isFull, type State } from '../store/state.ts';
import { readFloors, readRoot, readStatement, readTrustRow } from '../store/trust.ts';

type Runs = {
  readonly package: Digest;
  readonly siteValues: Digest;
  readonly release: number;
};

export type PackageState = {
  readonly assignment: string;
  /** unknown: it runs as wanted, and a check of it could not be made here. */
  readonly status: PackageStatus | 'unknown' | 'removing';
  readonly since: Timestamp;
  readonly runs: Runs | null;
  /** What the release wants, where that is not what runs. */
  readonly wanted: Runs | null;
  readonly code: string | null;
  readonly message: string | null;
  /** A person rolled it back under this release. */
  readonly pinned: number | null;
  /** Who, and why. */
  readonly pinnedReason: string | null;
  readonly checks: readonly CheckResult[];
  /** Those that failed what the release wants, when something else runs. */
  readonly failedChecks: readonly CheckResult[];
  readonly drift: readonly Drift[];
  readonly driftSince: Timestamp | null;
  /** Why the last look could not tell whether it drifted. */
  readonly unreadable: string | null;
};

export type Status = {
  readonly fleet: string;
  readonly agent: string;
  readonly channel: string | null;
  readonly release: {
    readonly version: number;
    readonly issuedAt: Timestamp;
    readonly expires: Timestamp;
    readonly ageDays: number;
    /** Expired, with no lease that goes on: what runs goes on running, but this release is installed nowhere any more. */
    readonly stale: boolean;
    /** The release whose packages are wanted here; older than `version` where the rollout left us out. */
    readonly follows: number | null;
  } | null;
  /** The lease of the release; null: there is none. */
  readonly lease: {
    readonly version: number;
    readonly issuedAt: Timestamp;
    readonly expires: Timestamp;
    readonly live: boolean;
    /** When it stops to count here: at its end, or before, where the order wants younger ones. */
    readonly until: Timestamp;
  } | null;
  /** Nothing vouches any more for the release being the newest: no new installs, and nothing is stopped. */
  readonly stale: Staleness | null;
  /** Somebody imported what had ended; until the next regular release. */
  readonly brokenGlass: BrokenGlass | null;
  /** A medium on several sticks, of which not all that is for this agent has been here yet. */
  readonly parts: Omit<WaitingForParts, 'blobs'> | null;
  readonly root: {
    readonly version: number;
    readonly expires: Timestamp;
    readonly expired: boolean;
    /** For development: one person can sign everything. */
    readonly dev: boolean;
  } | null;
  readonly site: number;
  readonly packages: readonly PackageState[];
  readonly outbox: OutboxSize;
  /** The disk of the state directory is full: the daemon cannot even note that it fails. */
  readonly diskFull: boolean;
  /** The operation that an interruption left unfinished. */
  readonly unfinished: string | null;
  /** As the daemon left it; null where the configuration names none. */
  readonly registry: (Contact & { readonly address: string }) | null;
  readonly hub: (Contact & { readonly address: string }) | null;
  /** A release waits for its window: when that opens. */
  readonly window: Timestamp | null;
};

/** What runs here and how it is, out of the store alone: looks at no live state and needs no lock. */
export const readStatus = (
  agent: Pick<Agent, 'state' | 'identity' | 'edge'>,
  config: Pick<Config, 'registry' | 'hub' | 'windows'>,
): Status => {
  const { state, identity, edge } = agent;
  const note = readNote(state.directory);
  const trust = readTrustRow(state);
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, trust.timeFloor);
  const root = readRoot(state);
  const open = openOperation(state);
  const stale = readStaleness(agent);
  return {
    fleet: identity.fleet,
    agent: fullName(identity),
    channel: trust.channel ? formatChannel(trust.channel) : null,
    release: releaseOf(agent, now, stale),
    lease: leaseOf(agent, now),
    stale: stale ?? null,
    brokenGlass: readCondition(state, 'glass') ?? null,
    parts: partsOf(state),
    root: root
      ? {
          version: root.version,
          expires: formatTime(root.expires),
          expired: root.expires <= now,
          dev: root.dev,
        }
      : null,
    site: readFloors(state).site,
    packages: readPackages(state).map((row) => packageState(state, row, edge.now())),
    outbox: outboxSize(state),
    diskFull: isFull(state.directory),
    unfinished: open ? `${nameOf(open)}, ${open.phase}` : null,
    registry: config.registry === '' ? null : { address: config.registry, ...note.registry },
    hub: config.hub === '' ? null : { address: config.hub, ...note.hub },
    window: waitsFor(agent, config),
  };
};

/** A removal that was not begun and is held back is `skipped`, as everything that is. */
const statusOf = ({ desired, status, code }: PackageRow, isUnknown: boolean): PackageState['status'] => {
  if (!desired && (status !== 'skipped' || code === 'REMOVAL_WAITS')) return 'removing';
  return isUnknown ? 'unknown' : status;
};

const packageState = (state: State, row: PackageRow, now: Date): PackageState => {
  const wanted = row.desired && !isSame(row.current, row.desired) ? row.desired : undefined;
  const unknown = row.status === 'healthy' ? unknownHealth(row.checks) : undefined;
  const leaving = sayLeaving(readLeaving(state, row.assignment), now);
  const removal =
    leaving !== undefined && row.status !== 'failed' && row.status !== 'broken'
      ? { code: 'REMOVAL_WAITS', message: leaving }
      : undefined;
  const said = removal ?? unknown ?? row;
  const next = nextTry(state, row, now);
  return {
    assignment: row.assignment,
    status: statusOf(row, unknown !== undefined),
    since: row.since,
    runs: row.current ? runsOf(row.current) : null,
    wanted: wanted ? runsOf(wanted) : null,
    code: said.code ?? null,
    message: said.message === undefined ? null : `${said.message}${next}`,
    pinned: row.pinnedRelease ?? null,
    pinnedReason: row.pinnedRelease === undefined ? null : (row.pinnedReason ?? null),
    checks: row.checks,
    failedChecks: wanted ? (findFailure(state, row.assignment, wanted)?.checks ?? []) : [],
    drift: row.drift?.items ?? [],
    driftSince: row.drift?.first ?? null,
    unreadable: row.drift?.error ? `${row.drift.error.code}: ${row.drift.error.message}` : null,
  };
};

/** '; tried again at 2026-...' where a pause is under way that the package's status comes from. */
const nextTry = (state: State, row: PackageRow, now: Date): string => {
  const { assignment, status, desired, code } = row;
  const what = status === 'broken' ? HEALTH : isHalfRemoved(row) ? REMOVAL : tryOf(desired);
  const waits = status === 'failed' || status === 'broken' || code === 'REMOVAL_WAITS';
  const attempt = waits ? findAttempt(state, assignment, what) : undefined;
  return attempt && !isDue(attempt, now) ? `; tried again at ${attempt.next}` : '';
};

const partsOf = (state: State): Status['parts'] => {
  const waiting = readCondition(state, 'parts');
  if (!waiting) return null;
  const { set, count, missing, since } = waiting;
  return { set, count, missing, since };
};

/** The window that something waits for, if something does and it is not open. */
const waitsFor = (
  { state, edge }: Pick<Agent, 'state' | 'edge'>,
  config: Pick<Config, 'windows'>,
): Timestamp | null => {
  const windows = parseWindows(config.windows);
  if (windows.isOpen(edge.now())) return null;
  const waiting = readPackages(state).some(
    ({ current, desired, pinnedRelease, status }) =>
      pinnedRelease === undefined && status === 'waiting' && !isSame(current, desired),
  );
  const opens = waiting ? windows.opensAfter(edge.now()) : undefined;
  return opens ? formatTime(opens) : null;
};

const runsOf = ({ package: digest, siteValues, release }: PackageRef): Runs => ({
  package: digest,
  siteValues,
  release: release.version,
});

const leaseOf = (agent: Pick<Agent, 'state' | 'identity'>, now: Date): Status['lease'] => {
  const found = findLease(agent);
  if (!found) return null;
  const { lease, seconds } = found;
  const { version, issuedAt, expires } = lease;
  const until = formatTime(leaseEnd(lease, seconds));
  return { version, issuedAt, expires, live: isLiveLease(lease, now, seconds), until };
};

const releaseOf = (
  { state }: Pick<Agent, 'state'>,
  now: Date,
  stale: Staleness | undefined,
): Status['release'] => {
  const { channel, desiredRelease } = readTrustRow(state);
  const found = channel && readStatement(state, 'release', formatChannel(channel));
  if (!found?.issuedAt || !found.expires) return null;
  const age = now.getTime() - parseTime(found.issuedAt).getTime();
  return {
    version: found.version,
    issuedAt: found.issuedAt,
    expires: found.expires,
    ageDays: Math.max(0, Math.floor(age / DAY_MS)),
    stale: stale?.causes.some(({ what }) => what === 'release') ?? false,
    follows: desiredRelease?.version ?? null,
  };
};
