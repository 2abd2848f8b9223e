import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { formatChannel, type Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import { checkReason } from '../../../release/audit/decide.ts';
import { followWithLeases } from '../../../release/lease/follow-with-leases.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import { decideRollout } from '../../../release/rollout/begin-rollout.ts';
import {
  noEarlierRelease,
  requireCurrentRollout,
  type CurrentRollout,
} from '../../../release/rollout/carry-out.ts';
import { follow } from './step-rollout.ts';

/** Decisions of a person about the rollout of a channel. */
export const ROLLOUT_STEPS = ['advance', 'pause', 'resume', 'take-back'] as const;
export type RolloutStep = (typeof ROLLOUT_STEPS)[number];

export type StageStepRequest = {
  readonly channel: Channel;
  readonly decision: RolloutStep;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
  readonly waitMs?: number;
  /** Time of the first call with this request, if that may have been killed: its signed decision is not repeated. */
  readonly repeats?: Date | undefined;
};

export type DecidedStep = {
  readonly channel: string;
  readonly decision: RolloutStep;
  /** `unchanged`: the rollout was paused already, or was not paused; nothing was written. */
  readonly outcome: 'decided' | 'unchanged';
  readonly stage: string | null;
  /** Number of the release that follows from it; null if none does. */
  readonly release: number | null;
  /** Why the lease of the channel could not be renewed for that release. */
  readonly leaseVoid: FleetError | undefined;
};

/**
 * Signs a person's decision about the rollout of a channel, appends it to the audit log, and makes the release that follows.
 * @throws FleetError ROLLOUT_MISSING; USAGE for an advance after the last stage, or for the reason; BUSY, KEY_MISSING; the codes of appendEntry
 */
export const decideStep = async (
  keys: KeyDirectory,
  layout: string,
  { channel, decision, person, reason, now, waitMs, repeats }: StageStepRequest,
): Promise<DecidedStep> => {
  checkReason(reason);
  using releases = await openReleases(layout, { command: `rollout ${decision}`, now, waitMs });
  const opened = await releases.open();
  const rolling = await requireCurrentRollout(opened, keys, channel, now);
  const before = (await readAuditLog(opened, keys.roots)).entries.findLast(
    (entry) =>
      repeats !== undefined &&
      entry.kind === 'decision' &&
      entry.predicate.plan === rolling.stored.digest &&
      entry.predicate.decision === decision &&
      entry.predicate.person === person &&
      entry.predicate.reason === reason &&
      entry.predicate.time >= formatTime(repeats),
  );
  const stage = before?.kind === 'decision' ? before.predicate.stage : stageFor(decision, rolling);
  const changes = before !== undefined || changesPause(decision, rolling);
  if (!before && changes) {
    const request = defined({ decision, person, reason, stage });
    await decideRollout(releases, keys, rolling.stored, request, now);
  }
  const carried = await follow(keys, releases, channel, now);
  const [leaseVoid] = carried ? (await followWithLeases(releases, keys, [channel], now)).values() : [];
  return {
    channel: formatChannel(channel),
    decision,
    outcome: changes ? 'decided' : 'unchanged',
    stage: stage ?? null,
    release: carried?.version ?? null,
    leaseVoid,
  };
};

/** The stage that a decision names. */
const stageFor = (
  decision: RolloutStep,
  { channel, stored: { plan }, progress }: CurrentRollout,
): string | undefined => {
  switch (decision) {
    case 'advance': {
      const next = plan.stages[progress.started.length];
      if (next) return next.name;
      throw new FleetError('USAGE', 'the last stage of the rollout has begun', {
        subject: formatChannel(channel),
        hint: 'There is no further stage to advance to',
      });
    }
    case 'take-back':
      if (plan.before) return undefined;
      throw noEarlierRelease(channel);
    case 'pause':
    case 'resume':
      return undefined;
  }
};

/** @throws FleetError USAGE if only the whole environment is paused, which this verb does not resume */
const changesPause = (
  decision: RolloutStep,
  { channel: { environment }, progress: { paused, ownPause, takenBack } }: CurrentRollout,
): boolean => {
  switch (decision) {
    case 'advance':
    case 'take-back':
      return true;
    case 'pause':
      return ownPause === undefined;
    case 'resume':
      if (ownPause !== undefined || takenBack) return true;
      if (paused === undefined) return false;
      throw new FleetError('USAGE', `this rollout is not paused, but ${environment} is: ${paused}`, {
        subject: environment,
        hint: `Resume it with: fleet-scheduler resume ${environment}`,
      });
  }
};
