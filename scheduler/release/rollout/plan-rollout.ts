import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import type { Rollout, RolloutTerm } from '#bundles/formats/statements/predicates';
import type { Channel } from '#bundles/names';
import { reachesEveryone } from '#bundles/trust/accept/is-selected';
import type { PlannedStage, RolloutPolicy, RolloutStage, StagePlan } from '../../model/promotion.ts';

/** The release of agents that the rollout has not reached. */
export type Baseline = { readonly version: number; readonly release: Digest };

/**
 * The stages of one rollout, fixed when it starts: a later change of the policy does not reach it. Canonical JSON; its digest is
 * in each decision about the rollout, and the document is in each of its releases.
 */
export type RolloutPlan = StagePlan & {
  readonly format: 1;
  readonly environment: string;
  readonly clusterType: string;
  readonly candidate: Digest;
  readonly bundles: readonly Digest[];
  /** Number of the release that the first one of this rollout follows; 0: the channel had none. */
  readonly follows: number;
  /** Release that a take-back returns to; null: the channel had no release that reached all agents. */
  readonly before: Baseline | null;
};

export type PlannedRelease = {
  readonly channel: Channel;
  readonly candidate: Digest;
  readonly bundles: readonly Digest[];
  readonly follows: number;
  readonly before: Baseline | null;
};

/** The plan of a rollout. Agents are not part of it: agents that join fall into the first stage that selects them. */
export const planRollout = (policy: RolloutPolicy, release: PlannedRelease): RolloutPlan => ({
  format: 1,
  ...release.channel,
  candidate: release.candidate,
  bundles: release.bundles.toSorted(),
  follows: release.follows,
  before: release.before,
  ...stagePlan(policy),
});

/** The stages of a policy, as they are fixed when a rollout starts. */
export const stagePlan = (policy: RolloutPolicy): StagePlan => ({
  policy: policy.name,
  stages: planStages(policy.stages),
  deadlineSeconds: policy.deadlineSeconds ?? null,
  onFailure: policy.onFailure,
  freshnessSeconds: policy.freshnessSeconds ?? null,
  absent: policy.absent ?? null,
  ...defined({ siteValues: policy.siteValues }),
});

/** All agents, in the form that readers of every version understand. */
export const EVERYONE: Rollout = { percent: 100 };

/** Final stage of a policy whose last stage does not reach all agents. */
const REST = { name: 'rest', soakSeconds: 0, maxFailures: { count: 0 }, approvals: 0 };

const planStages = (stages: readonly RolloutStage[]): readonly PlannedStage[] => {
  const planned: PlannedStage[] = [];
  let terms: readonly RolloutTerm[] = [];
  for (const { selector, percent = 100, ...stage } of stages) {
    terms = widen(terms, defined({ percent, selector: selector?.matchLabels }));
    const { name, soakSeconds, maxFailures, approvals } = stage;
    planned.push({ name, rollout: toRollout(terms), soakSeconds, maxFailures, approvals });
  }
  const isWhole = terms.some((term) => reachesEveryone(term));
  return isWhole ? planned : [...planned, { ...REST, rollout: EVERYONE }];
};

/**
 * Adds a term and drops the terms that it includes. It replaces the first dropped one, so that the first term of each stage
 * includes the first term of the stage before: readers that know only the first term see nested stages as well.
 */
const widen = (terms: readonly RolloutTerm[], term: RolloutTerm): readonly RolloutTerm[] => {
  if (terms.some((one) => holds(one, term))) return terms;
  const at = terms.findIndex((one) => holds(term, one));
  if (at === -1) return [...terms, term];
  return terms.flatMap((one, index) => {
    if (index === at) return term;
    return holds(term, one) ? [] : one;
  });
};

/** Whether a term selects every agent that another one selects. */
const holds = (wide: RolloutTerm, narrow: RolloutTerm): boolean =>
  wide.percent >= narrow.percent &&
  Object.entries(wide.selector ?? {}).every(([label, value]) => narrow.selector?.[label] === value);

const toRollout = ([first = EVERYONE, ...also]: readonly RolloutTerm[]): Rollout => ({
  ...first,
  ...defined({ also: also.length > 0 ? also : undefined }),
});
