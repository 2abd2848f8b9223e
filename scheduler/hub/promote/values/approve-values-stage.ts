import { APPROVAL_SITE_VALUES, type ApprovalPredicate } from '#bundles/formats/statements/predicates';
import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { appendEntry } from '../../../release/audit/append-entry.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import type { Hub } from '../../hub.ts';
import { findRollout, shortRollout, type StoredRollout } from '../../sites/values-rollout.ts';
import { signApproval } from '../decide/approve-for.ts';
import { LOCK_WAIT_MS } from '../decide/chain.ts';
import type { Approving } from './approve-values.ts';
import { assessValues } from './assess-values.ts';

export type ApprovedStage = {
  readonly rollout: string;
  readonly stage: string;
  readonly found: number;
  readonly needed: number;
};

/**
 * Signs a person's approval of the stage of a rollout of values that comes next, and appends it to the audit log.
 * @returns undefined if no rollout with such a stage begins with these digits
 * @throws FleetError UNKNOWN_KEY, BUSY; the codes of appendEntry
 */
export const approveValuesStage = async (
  hub: Hub,
  { id, key, person, reason, now }: Approving,
): Promise<ApprovedStage | undefined> => {
  const stored = await rolloutWith(hub, id);
  const next = stored?.rollout.plan.stages[stored.progress.started.length];
  if (!stored || stored.state !== 'running' || !next) return undefined;
  const predicate: ApprovalPredicate = {
    fleet: hub.keys.root.fleet,
    to: stored.rollout.environment,
    shared: stored.id,
    about: 'site-values',
    stage: next.name,
    person,
    reason,
    time: formatTime(now),
    critical: [APPROVAL_SITE_VALUES],
  };
  {
    using releases = await openReleases(hub.layout, { command: 'approve', now, waitMs: LOCK_WAIT_MS });
    const statement = await signApproval(stored.id, predicate, key);
    await appendEntry(releases, hub.keys, { kind: 'approval', statement }, now);
  }
  const [judged] = await assessValues(hub, [stored], now);
  const verdict = judged?.verdict.stages.find(({ name }) => name === next.name);
  const { found, needed } = verdict?.approvals ?? { found: 0, needed: next.approvals };
  return { rollout: shortRollout(stored.id), stage: next.name, found, needed };
};

const rolloutWith = async ({ store: { db } }: Hub, id: string): Promise<StoredRollout | undefined> => {
  try {
    return await findRollout(db, id);
  } catch (error) {
    if (isFleetError(error, 'ROLLOUT_MISSING')) return undefined;
    throw error;
  }
};
