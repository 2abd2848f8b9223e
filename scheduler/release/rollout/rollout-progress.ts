import type { Digest } from '#bundles/digest';
import type { ApprovalPredicate, DecisionPredicate } from '#bundles/formats/statements/predicates';
import type { Timestamp } from '#bundles/time';
import type { RolloutPlan } from './plan-rollout.ts';

/** State of a rollout by its decisions. */
export type RolloutProgress = {
  /** When each stage began, in the order of the plan; stages that have not begun are missing. Empty: it has not started. */
  readonly started: readonly Timestamp[];
  /** Reason of a pause of the rollout or its whole environment; undefined if neither is paused. */
  readonly paused: string | undefined;
  /** Reason of the pause of the rollout itself. */
  readonly ownPause: string | undefined;
  /** When it was last resumed. */
  readonly resumedAt: Timestamp | undefined;
  readonly takenBack: boolean;
  /** True once its last stage complied. Later failures do not count for the rollout. */
  readonly isComplete: boolean;
  /** Keys that approved each stage, by the stage's name. */
  readonly approvals: ReadonlyMap<string, ReadonlySet<string>>;
};

/** Entries of the audit log, oldest first. */
export type LogEntry =
  | { readonly kind: 'decision'; readonly predicate: DecisionPredicate }
  | {
      readonly kind: 'approval';
      readonly candidate: Digest | undefined;
      readonly predicate: ApprovalPredicate;
      readonly signer: string;
    }
  | { readonly kind: 'promotion' | 'change' };

/** Folds the decisions about one plan, in the order of the log. */
export const progressOf = (
  plan: RolloutPlan,
  digest: Digest,
  entries: readonly LogEntry[],
): RolloutProgress => {
  let started: readonly Timestamp[] = [];
  let paused: string | undefined;
  let resumedAt: Timestamp | undefined;
  let takenBack = false;
  let isComplete = false;
  const approvals = new Map<string, Set<string>>();
  for (const entry of entries) {
    const approved = approvedStage(plan, entry);
    if (approved !== undefined)
      approvals.set(approved.stage, (approvals.get(approved.stage) ?? new Set()).add(approved.signer));
    if (entry.kind !== 'decision' || entry.predicate.plan !== digest) continue;
    const { decision, stage, time, reason } = entry.predicate;
    switch (decision) {
      case 'start-rollout':
        if (started.length === 0) started = [time];
        break;
      case 'advance':
        if (stage === undefined) isComplete = true;
        started = startedUpTo(plan, started, stage, time);
        break;
      case 'pause':
        paused = reason;
        break;
      case 'resume':
        [paused, resumedAt, takenBack] = [undefined, time, false];
        break;
      case 'take-back':
      case 'reject':
        takenBack = true;
        break;
      case 'roll-back':
      case 'submit':
        break;
    }
  }
  return {
    started,
    paused: paused ?? environmentPause(plan.environment, entries),
    ownPause: paused,
    resumedAt,
    takenBack,
    isComplete,
    approvals,
  };
};

/** The stage of a plan that an entry of the log approves, and the key that approves it. */
const approvedStage = (
  plan: RolloutPlan,
  entry: LogEntry,
): { readonly stage: string; readonly signer: string } | undefined => {
  if (entry.kind !== 'approval' || entry.candidate !== plan.candidate) return undefined;
  const { to, stage, workspaces, about } = entry.predicate;
  // A stage is about the whole environment, so an approval that is limited to workspaces counts for none.
  if (to !== plan.environment || stage === undefined || workspaces !== undefined || about !== undefined)
    return undefined;
  return { stage, signer: entry.signer };
};

/** When each stage began, once the named one has. A skipped stage began together with the one after it. */
const startedUpTo = (
  plan: RolloutPlan,
  started: readonly Timestamp[],
  stage: string | undefined,
  time: Timestamp,
): readonly Timestamp[] => {
  const at = plan.stages.findIndex(({ name }) => name === stage);
  if (at < started.length) return started;
  return [...started, ...Array<Timestamp>(at + 1 - started.length).fill(time)];
};

/** Why no rollout of an environment advances by a rule: a pause of all of it; undefined: none. */
export const environmentPause = (environment: string, entries: readonly LogEntry[]): string | undefined => {
  const last = entries.findLast(
    (entry) =>
      entry.kind === 'decision' &&
      (entry.predicate.decision === 'pause' || entry.predicate.decision === 'resume') &&
      isOfEnvironment(entry.predicate, { environment }),
  );
  if (last?.kind !== 'decision' || last.predicate.decision === 'resume') return undefined;
  return `all of ${environment}, ${last.predicate.reason}`;
};

/** A decision about the whole environment, not about one channel, stage or plan. */
const isOfEnvironment = (
  { environment, only, stage, plan: named }: DecisionPredicate,
  plan: Pick<RolloutPlan, 'environment'>,
): boolean =>
  environment === plan.environment && only === undefined && stage === undefined && named === undefined;
