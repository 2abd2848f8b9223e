import { isLiveLease, leaseEnd } from '#bundles/trust/accept/is-live-lease';
import { trustedTime } from '#bundles/trust/accept/trusted-time';
import type { Digest } from '#bundles/digest';
import type { Json } from '#bundles/json/canonical';
import { formatChannel } from '#bundles/names';
import { DAY_MS, formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import type { CheckResult, Drift } from '../model/target.ts';
import { describeTerminating } from '../apply/describe-terminating.ts';
import { unknownHealth } from '../model/unknown-health.ts';
import type { Config } from '../config/config.ts';
import type { Contact } from '../store/contact.ts';
import { judgeLook, type LookConfig, type LookVerdict } from './judge-look.ts';
import { readNote } from './note.ts';
import { readRebootStatus, type RebootStatus } from './reboot/reboot-status.ts';
import { parseWindows } from '#bundles/windows';
import type { AgentStatus } from '#bundles/schemas/types/agent-status';
import { nameOf } from '../store/journal/name-of.ts';
import { openOperations } from '../store/journal/operations.ts';
import { type OutboxSize, outboxSize } from '../store/outbox/outbox.ts';
import { findLease } from '../acquire/staleness/find-lease.ts';
import { readStaleness, type Staleness } from '../acquire/staleness/read-staleness.ts';
import { findAttempt, HEALTH, isDue, REMOVAL, tryOf } from '../store/applied/attempts.ts';
import {
  type BreakGlassImport,
  readCondition,
  type SiteHold,
  type WaitingForParts,
} from '../store/conditions.ts';
import { findFailure } from '../store/applied/failures.ts';
import { fullName } from '../store/identity.ts';
import { readLeaving } from '../store/applied/inventory.ts';
import { isSamePackage, type PackageRef } from '../store/applied/package-ref.ts';
import {
  isHalfRemoved,
  type PackageRow,
  type PackageStatus,
  readPackages,
} from '../store/applied/packages.ts';
import { idOf, readLocalValues, valueOf } from '../store/local-values.ts';
import { readSiteHold } from '../store/site-hold.ts';
import { isFull, type State } from '../store/state.ts';
import { readUpgrade } from '../store/upgrade-trial.ts';
import { readFloors, readRoot, readStatement, readTrustRow } from '../store/trust.ts';

type Runs = {
  readonly package: Digest;
  readonly siteValues: Digest;
  readonly release: number;
};

export type PackageState = {
  readonly assignment: string;
  /** unknown: runs as desired, but a check could not be made or live state was not compared lately. removing: its removal is pending or waits. */
  readonly status: PackageStatus | 'unknown' | 'removing';
  readonly since: Timestamp;
  readonly runs: Runs | null;
  /** The desired version, if it differs from the running one. */
  readonly wanted: Runs | null;
  readonly code: string | null;
  readonly message: string | null;
  /** The release under which an operator rolled the package back. */
  readonly pinned: number | null;
  /** Operator and reason of the rollback. */
  readonly pinnedReason: string | null;
  readonly checks: readonly CheckResult[];
  /** Failed checks of the desired version, if another one runs. */
  readonly failedChecks: readonly CheckResult[];
  readonly drift: readonly Drift[];
  readonly driftSince: Timestamp | null;
  /** Why the last look could not read live state. */
  readonly unreadable: string | null;
  /** When its live state was last compared; null for never, and for a package that does not run. */
  readonly looked: Timestamp | null;
  /** The verdict is old: the service does not run, or nothing was compared for too long. */
  readonly isOld: boolean;
};

export type LocalNote = {
  readonly name: string;
  readonly value: Json;
  readonly person: string;
  readonly reason: string;
  readonly at: Timestamp;
  /** false: it is held, or a fixed layer overrides it (readValues). */
  readonly used: boolean;
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
    /** Expired, and not extended by a lease: running packages continue, but the release is not installed any more. */
    readonly stale: boolean;
    /** The release of the desired packages; older than `version` while the rollout does not select this agent. */
    readonly follows: number | null;
  } | null;
  /** The lease of the release; null without one. */
  readonly lease: {
    readonly version: number;
    readonly issuedAt: Timestamp;
    readonly expires: Timestamp;
    readonly live: boolean;
    /** End of its use here: its own end, or earlier if the site statement limits the age of leases. */
    readonly until: Timestamp;
  } | null;
  /** Set if no statement proves any more that the release is the newest. Nothing is stopped. */
  readonly stale: Staleness | null;
  /** The break-glass override in effect, until the next regular release. */
  readonly brokenGlass: BreakGlassImport | null;
  /** An operator holds this machine as it is. */
  readonly held: Omit<SiteHold, 'timer'> | null;
  /** The set of parts of which this agent still needs some. */
  readonly parts: Omit<WaitingForParts, 'blobs'> | null;
  readonly root: {
    readonly version: number;
    readonly expires: Timestamp;
    readonly expired: boolean;
    /** A development root, with which one person can sign everything. */
    readonly dev: boolean;
  } | null;
  readonly site: number;
  /** Values that a person here set and that the office has not answered. */
  readonly local: readonly LocalNote[];
  readonly packages: readonly PackageState[];
  readonly outbox: OutboxSize;
  /** True if the disk of the state directory is full, so that the daemon cannot record its failures. */
  readonly diskFull: boolean;
  /** Name and phase of each unfinished operation. */
  readonly unfinished: string | null;
  /** Last state recorded by the daemon; null if not configured. */
  readonly registry: (Contact & { readonly address: string }) | null;
  readonly hub: (Contact & { readonly address: string }) | null;
  /** Opening time of the next maintenance window, if a package waits for it. */
  readonly window: Timestamp | null;
  /** An upgrade of the agent that is under way or was undone: what happened, and what people do. */
  readonly upgrade: string | null;
  readonly service: LookVerdict['service'];
  /** The last look at live state that could read something. */
  readonly look: Timestamp | null;
  readonly reboot: RebootStatus;
};

/** Reads the status of the agent from the store alone, without live state and without a lock. */
export const readStatus = (
  agent: Pick<Agent, 'state' | 'identity' | 'edge'>,
  config: Pick<Config, 'registry' | 'hub' | 'windows'> & LookConfig,
): Status => {
  const { state, identity, edge } = agent;
  const note = readNote(state.directory);
  const trust = readTrustRow(state);
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, trust.timeFloor);
  const root = readRoot(state);
  const open = openOperations(state).map((one) => `${nameOf(one)}, ${one.phase}`);
  const stale = readStaleness(agent);
  const verdict = judgeLook(agent, config);
  const rows = readPackages(state);
  return {
    fleet: identity.fleet,
    agent: fullName(identity),
    channel: trust.channel ? formatChannel(trust.channel) : null,
    release: releaseOf(agent, now, stale),
    lease: leaseOf(agent, now),
    stale: stale ?? null,
    brokenGlass: readCondition(state, 'glass') ?? null,
    held: heldOf(agent),
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
    local: localOf(state, rows),
    packages: rows.map((row) => packageState(state, row, edge.now(), verdict)),
    outbox: outboxSize(state),
    diskFull: isFull(state.directory),
    unfinished: open.length > 0 ? open.join('; ') : null,
    registry: config.registry === '' ? null : { address: config.registry, ...note.registry },
    hub: config.hub === '' ? null : { address: config.hub, ...note.hub },
    window: waitsFor(edge.now(), rows, config),
    upgrade: readUpgrade(state.directory)?.message ?? null,
    service: verdict.service,
    look: verdict.last?.at ?? null,
    reboot: readRebootStatus(agent),
  } satisfies AgentStatus;
};

const localOf = (state: State, rows: readonly PackageRow[]): readonly LocalNote[] => {
  const used = new Set(rows.flatMap(({ desired }) => (desired?.local ?? []).map(idOf)));
  return readLocalValues(state).map((local) => {
    const { name, person, reason, at } = local.edit;
    return { name, value: valueOf(local), person, reason, at, used: used.has(idOf(local)) };
  });
};

const heldOf = (agent: Pick<Agent, 'state' | 'edge'>): Status['held'] => {
  const hold = readSiteHold(agent);
  if (!hold) return null;
  const { timer: _, ...shown } = hold;
  return shown;
};

/** A held-back removal that has not begun is `skipped`, as other held-back packages are. */
const statusOf = ({ desired, status, code }: PackageRow, isUnknown: boolean): PackageState['status'] => {
  if (!desired && (status !== 'skipped' || code === 'REMOVAL_WAITS')) return 'removing';
  return isUnknown ? 'unknown' : status;
};

type Reason = Pick<PackageRow, 'code' | 'message'>;

/** Why the health of a healthy package is not known. @param old why what was seen of it no longer counts */
const doubtOf = (row: PackageRow, old: string | undefined): Reason | undefined => {
  if (row.status !== 'healthy') return undefined;
  const unseen = old ?? (row.drift?.error && 'its live state could not be read');
  return unseen === undefined ? unknownHealth(row.checks) : { code: 'HEALTH_UNKNOWN', message: unseen };
};

const waitingRemoval = (state: State, { assignment, status }: PackageRow, now: Date): Reason | undefined => {
  if (status === 'failed' || status === 'broken') return undefined;
  const leaving = describeTerminating(assignment, readLeaving(state, assignment), now);
  return leaving === undefined ? undefined : { code: 'REMOVAL_WAITS', message: leaving };
};

const pinOf = ({ pinnedRelease, pinnedReason }: PackageRow): Pick<PackageState, 'pinned' | 'pinnedReason'> =>
  pinnedRelease === undefined
    ? { pinned: null, pinnedReason: null }
    : { pinned: pinnedRelease, pinnedReason: pinnedReason ?? null };

const driftOf = ({ drift }: PackageRow): Pick<PackageState, 'drift' | 'driftSince' | 'unreadable'> => ({
  drift: drift?.items ?? [],
  driftSince: drift?.first ?? null,
  unreadable: drift?.error ? `${drift.error.code}: ${drift.error.message}` : null,
});

const packageState = (state: State, row: PackageRow, now: Date, verdict: LookVerdict): PackageState => {
  const wanted = row.desired && !isSamePackage(row.current, row.desired) ? row.desired : undefined;
  const old = row.current ? verdict.whyOld(row.assignment) : undefined;
  const doubt = doubtOf(row, old);
  const removal = waitingRemoval(state, row, now);
  const said = removal ?? doubt ?? row;
  const next = nextTry(state, row, now, removal !== undefined);
  return {
    assignment: row.assignment,
    status: statusOf(row, doubt !== undefined),
    since: row.since,
    runs: row.current ? runsOf(row.current) : null,
    wanted: wanted ? runsOf(wanted) : null,
    code: said.code ?? null,
    message: said.message === undefined ? null : `${said.message}${next}`,
    ...pinOf(row),
    checks: row.checks,
    failedChecks: wanted ? (findFailure(state, row.assignment, wanted)?.checks ?? []) : [],
    ...driftOf(row),
    looked: row.current ? (verdict.looked(row.assignment)?.at ?? null) : null,
    isOld: old !== undefined,
  };
};

/** '; tried again at 2026-...' during the retry pause that belongs to the package's status, otherwise ''. */
const nextTry = (state: State, row: PackageRow, now: Date, removes: boolean): string => {
  const { assignment, status, desired } = row;
  const leaves = removes || isHalfRemoved(row);
  const other = leaves ? REMOVAL : tryOf(desired);
  const what = status === 'broken' ? HEALTH : other;
  const waits = leaves || status === 'failed' || status === 'broken';
  const attempt = waits ? findAttempt(state, assignment, what) : undefined;
  return attempt && !isDue(attempt, now) ? `; tried again at ${attempt.next}` : '';
};

const partsOf = (state: State): Status['parts'] => {
  const waiting = readCondition(state, 'parts');
  if (!waiting) return null;
  const { set, count, missing, since } = waiting;
  return { set, count, missing, since };
};

/** Opening time of the next window, if no window is open and a package waits for one. */
const waitsFor = (
  now: Date,
  rows: readonly PackageRow[],
  config: Pick<Config, 'windows'>,
): Timestamp | null => {
  const windows = parseWindows(config.windows);
  if (windows.isOpen(now)) return null;
  const waiting = rows.some(
    ({ current, desired, pinnedRelease, status }) =>
      pinnedRelease === undefined && status === 'waiting' && !isSamePackage(current, desired),
  );
  const opens = waiting ? windows.opensAfter(now) : undefined;
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
