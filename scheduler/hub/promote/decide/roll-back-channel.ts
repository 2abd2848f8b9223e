import { bundlesOf } from '../../../load/releases/read-release.ts';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import { findRevoked, readRevocations } from '../../../load/releases/revocation-list.ts';
import { decide } from '../../../release/audit/decide.ts';
import { followWithLeases } from '../../../release/lease/follow-with-leases.ts';
import { openReleases, type Releases } from '../../../release/write/open-releases.ts';
import { resumeAssignment, rollBackAssignment } from '../../../release/reissue/roll-back-assignment.ts';
import {
  chooseRelease,
  findRelease,
  readCurrent,
  rollbackRelease,
} from '../../../release/reissue/rollback-release.ts';

type ChannelRequest = {
  readonly channel: Channel;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
  readonly signal: AbortSignal;
  readonly waitMs?: number;
};

export type RollBackChannelRequest = ChannelRequest & {
  /** Number of the release to go back to. */
  readonly to: number;
  /** Time of the first call with this request, if that may have been killed. */
  readonly repeats?: Date | undefined;
};

export type ChannelRolledBack = {
  readonly channel: string;
  readonly decision: 'roll-back';
  readonly to: number;
  /** Number of the new release. */
  readonly release: number;
  readonly expires: Timestamp;
  /** Why the lease of the channel could not be renewed for it. */
  readonly leaseVoid: FleetError | undefined;
};

/**
 * Takes a channel back to an older release: a decision in the audit log, where the root has keys for one, and a new release of the old
 * bundles to all agents.
 * @throws FleetError the codes of rollbackRelease and appendEntry; BUSY
 */
export const rollBackChannel = async (
  keys: KeyDirectory,
  layout: string,
  { to, repeats, ...request }: RollBackChannelRequest,
): Promise<ChannelRolledBack> => {
  const { channel, now, signal, waitMs } = request;
  using releases = await openReleases(layout, { command: 'releases rollback', now, waitMs });
  const name = formatChannel(channel);
  const answer = { channel: name, decision: 'roll-back', to } as const;
  const wasDecided = repeats !== undefined && (await isDecided(releases, keys, { ...request, to, repeats }));
  if (wasDecided) {
    const opened = await releases.open();
    const current = await readCurrent(opened, keys, channel, now);
    const [is, wanted] = [bundlesOf(current), bundlesOf(await findRelease(opened, keys, channel, to))];
    const { version, expires } = current.predicate;
    if (is.every((bundle) => wanted.includes(bundle)))
      return { ...answer, release: version, expires, leaseVoid: undefined };
  }
  const opened = await releases.open();
  const { previous, from } = await chooseRelease(opened, keys, { channel, to, now, signal });
  const revocations = await readRevocations(opened, keys.roots, channel, previous);
  const revoked = findRevoked(revocations, bundlesOf(from));
  if (revoked)
    throw new FleetError(
      'REVOKED',
      `the bundle of release ${to} was revoked at ${revoked.at}: ${revoked.reason}`,
      {
        subject: name,
      },
    );
  // Durable before the release that follows from it.
  if (!wasDecided && keys.root.audit.length > 0)
    await decide(releases, keys, {
      ...decisionOf(request),
      decision: 'roll-back',
      rollback: {
        release: to,
        instead: bundlesOf(previous).filter((bundle) => !bundlesOf(from).includes(bundle)),
      },
    });
  const made = await rollbackRelease(await releases.open(), keys, { channel, to, now, signal });
  await releases.point(made.references);
  const [leaseVoid] = (await followWithLeases(releases, keys, [channel], now)).values();
  return { ...answer, release: made.version, expires: made.expires, leaseVoid };
};

/**
 * Ends the rollback of a channel: the next build is released again.
 * @throws FleetError BUSY, KEY_MISSING; the codes of appendEntry
 */
export const resumeChannel = async (
  keys: KeyDirectory,
  layout: string,
  { waitMs, ...request }: ChannelRequest,
): Promise<{ readonly outcome: 'decided' | 'unchanged' }> => {
  using releases = await openReleases(layout, { command: 'releases rollback', now: request.now, waitMs });
  const name = formatChannel(request.channel);
  const { entries } = await readAuditLog(await releases.open(), keys.roots);
  const last = entries.findLast(
    ({ kind, predicate }) =>
      kind === 'decision' &&
      predicate.only === name &&
      predicate.plan === undefined &&
      ['roll-back', 'resume'].includes(predicate.decision),
  );
  if (last?.kind !== 'decision' || last.predicate.decision !== 'roll-back') return { outcome: 'unchanged' };
  await decide(releases, keys, { ...decisionOf(request), decision: 'resume' });
  return { outcome: 'decided' };
};

const decisionOf = ({ channel, person, reason, now }: ChannelRequest) => ({
  environment: channel.environment,
  only: formatChannel(channel),
  person,
  reason,
  now,
});

const isDecided = async (
  releases: Releases,
  { roots }: KeyDirectory,
  { channel, to, person, reason, repeats }: ChannelRequest & { readonly to: number; readonly repeats: Date },
): Promise<boolean> =>
  (await readAuditLog(await releases.open(), roots)).entries.some(
    ({ kind, predicate }) =>
      kind === 'decision' &&
      predicate.decision === 'roll-back' &&
      predicate.only === formatChannel(channel) &&
      predicate.rollback?.release === to &&
      predicate.person === person &&
      predicate.reason === reason &&
      predicate.time >= formatTime(repeats),
  );

export type AssignmentRequest = ChannelRequest & {
  readonly assignment: string;
  /** Number of the release whose package is used; undefined: the rollback of the assignment ends. */
  readonly to: number | undefined;
};

export type AssignmentRolledBack = {
  readonly channel: string;
  readonly assignment: string;
  readonly decision: 'roll-back' | 'resume';
  readonly to: number | null;
  /** `unchanged`: it was decided before and is in force, or nothing was; nothing was written. */
  readonly outcome: 'decided' | 'unchanged';
};

/** Takes one assignment back, or ends that. The next build releases it. @throws FleetError as rollBackAssignment; BUSY */
export const rollBackOne = async (
  keys: KeyDirectory,
  layout: string,
  { to, waitMs, signal: _, ...request }: AssignmentRequest,
): Promise<AssignmentRolledBack> => {
  using releases = await openReleases(layout, { command: 'releases rollback', now: request.now, waitMs });
  const { outcome } =
    to === undefined
      ? await resumeAssignment(releases, keys, request)
      : await rollBackAssignment(releases, keys, { ...request, to });
  const decision = to === undefined ? 'resume' : 'roll-back';
  const { channel, assignment } = request;
  return { channel: formatChannel(channel), assignment, decision, to: to ?? null, outcome };
};
