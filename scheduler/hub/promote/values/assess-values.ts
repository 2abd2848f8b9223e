import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import {
  environmentPause,
  type LogEntry,
  type RolloutProgress,
} from '../../../release/rollout/rollout-progress.ts';
import type { Hub } from '../../hub.ts';
import { readPins, shortRollout, type StoredRollout } from '../../sites/values-rollout.ts';
import type { By } from '../../store/open-store.ts';
import {
  type AgentFact,
  type JudgedPlan,
  judgeRollout,
  type RolloutVerdict,
} from '../rollout/judge-rollout.ts';
import { readValuesFacts } from './read-values-facts.ts';

export type JudgedValues = {
  readonly stored: StoredRollout;
  readonly verdict: RolloutVerdict;
  /** Of each stage. */
  readonly compliant: readonly (readonly AgentFact[])[];
  readonly facts: readonly AgentFact[];
  readonly pin: By | undefined;
};

/** Judges rollouts of values by the facts in the hub, as rollouts of releases are. */
export const assessValues = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  rollouts: readonly StoredRollout[],
  now: Date,
): Promise<readonly JudgedValues[]> => {
  if (rollouts.length === 0) return [];
  const { entries } = await readAuditLog(await openOrStartLayout(hub.layout), hub.keys.roots);
  const pins = await readPins(hub.store.db);
  const judged: JudgedValues[] = [];
  for (const stored of rollouts) {
    const { environment } = stored.rollout;
    const facts = await readValuesFacts(hub, stored, now);
    const pin = pins.get(environment);
    const progress = progressOfValues(stored, entries);
    const { compliant, ...verdict } = judgeRollout(judgedPlan(stored), progress, facts, now);
    judged.push({
      stored,
      verdict: pin ? pinned(verdict, environment, pin) : verdict,
      compliant,
      facts,
      pin,
    });
  }
  return judged;
};

/** The plan of a rollout of values as it is judged: every place has the values that it had before. */
export const judgedPlan = ({ id, rollout: { plan } }: StoredRollout): JudgedPlan => ({
  ...plan,
  before: {},
  approve: `"fleet-scheduler sites values approve ${shortRollout(id)}"`,
});

const pinned = (verdict: RolloutVerdict, environment: string, { person, reason }: By): RolloutVerdict => ({
  stages: verdict.stages.map((stage) =>
    stage.state === 'running' || stage.state === 'soaking' ? { ...stage, state: 'paused' } : stage,
  ),
  next: {
    kind: 'none',
    why: `the values of ${environment} are pinned by ${person ?? 'a rule'}: ${reason ?? 'no reason'}; "fleet-scheduler sites values unpin ${environment}" ends it`,
  },
});

const progressOfValues = (
  { id, state, rollout, progress: { started, paused, resumedAt } }: StoredRollout,
  entries: readonly LogEntry[],
): RolloutProgress => {
  const approvals = new Map<string, Set<string>>();
  for (const entry of entries) {
    if (entry.kind !== 'approval' || entry.predicate.about !== 'site-values') continue;
    const { shared, stage } = entry.predicate;
    if (shared === id && stage !== undefined)
      approvals.set(stage, (approvals.get(stage) ?? new Set()).add(entry.signer));
  }
  return {
    started,
    paused: paused ?? environmentPause(rollout.environment, entries),
    ownPause: paused ?? undefined,
    resumedAt: resumedAt ?? undefined,
    takenBack: state === 'taken-back',
    isComplete: state === 'complete',
    approvals,
  };
};
