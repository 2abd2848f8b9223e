import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Channel, formatChannel } from '#bundles/names';
import type { Rollout } from '#bundles/formats/statements/predicates';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import { readRevocations } from '../../load/releases/revocation-list.ts';
import { readPrevious } from '../write/read-previous.ts';
import { reissueRelease } from '../reissue/reissue-release.ts';
import { rollbackRelease } from '../reissue/rollback-release.ts';
import { readPlan, type StoredPlan } from './plan-document.ts';
import { progressOf, type RolloutProgress } from './rollout-progress.ts';

/** The rollout of a channel's current release, as the layout and the audit log have it. */
export type CurrentRollout = {
  readonly channel: Channel;
  readonly stored: StoredPlan;
  readonly progress: RolloutProgress;
  readonly release: StoredRelease;
};

/**
 * The rollout of a channel's current release.
 * @returns undefined if it was not made in stages, or no decision started its plan
 * @throws FleetError the codes of readPrevious, readAuditLog and readPlan
 */
export const readCurrentRollout = async (
  layout: Layout,
  keys: KeyDirectory,
  channel: Channel,
  now: Date,
): Promise<CurrentRollout | undefined> => {
  const release = await readPrevious(layout, channel, keys.roots, now);
  const stored = release && (await readPlan(layout, release));
  if (!release || !stored) return undefined;
  const { entries } = await readAuditLog(layout, keys.roots);
  const progress = progressOf(stored.plan, stored.digest, entries);
  return progress.started.length > 0 ? { channel, stored, progress, release } : undefined;
};

/** @throws FleetError ROLLOUT_MISSING, and the codes of readCurrentRollout */
export const requireCurrentRollout = async (
  layout: Layout,
  keys: KeyDirectory,
  channel: Channel,
  now: Date,
): Promise<CurrentRollout> => {
  const rolling = await readCurrentRollout(layout, keys, channel, now);
  if (rolling) return rolling;
  const name = formatChannel(channel);
  throw new FleetError('ROLLOUT_MISSING', `the release of ${name} is not in a rollout`, {
    subject: name,
    hint: 'It reaches the agents at once; a RolloutPolicy of the environment counts from the next bundle on',
  });
};

export type CarriedOut = {
  readonly what: 'widened' | 'taken back';
  readonly version: number;
  /** Index entries by reference, for the caller to write. */
  readonly references: ReadonlyMap<string, Descriptor>;
};

/**
 * Brings the release of a channel to the state that the decisions name: the stage that began last, or the earlier release after a
 * take-back. Resumes a process that was killed between a decision and its release.
 * @returns undefined if the release is already in that state
 * @throws FleetError ROLLOUT_MISSING if there is no earlier release; the codes of reissueRelease and rollbackRelease
 */
export const carryOut = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, stored: { plan }, progress, release }: CurrentRollout,
  now: Date,
): Promise<CarriedOut | undefined> => {
  if (progress.takenBack) {
    if (!plan.before) throw noEarlierRelease(channel);
    const { version, references } = await rollbackRelease(layout, keys, {
      channel,
      to: plan.before.version,
      now,
    });
    return { what: 'taken back', version, references };
  }
  const rollout = plan.stages[progress.started.length - 1]?.rollout;
  if (!rollout || isSameRollout(rollout, release.predicate.rollout)) return undefined;
  const revocations = await readRevocations(layout, keys.roots, channel, release);
  const { version, references } = await reissueRelease(layout, keys, {
    channel,
    from: release,
    previous: release,
    revocations,
    rollout,
    now,
  });
  return { what: 'widened', version, references };
};

export const noEarlierRelease = (channel: Channel): FleetError =>
  new FleetError('ROLLOUT_MISSING', `no release of ${formatChannel(channel)} reached all agents before`, {
    subject: formatChannel(channel),
    hint: 'Build a corrected release, or withdraw the bundle with: fleet-scheduler revoke',
  });

const isSameRollout = (a: Rollout, b: Rollout): boolean => canonicalBytes(a).equals(canonicalBytes(b));
