import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { givenValues } from '#bundles/formats/author-schema/decided-values';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { ownValue } from '#bundles/own-value';
import { isSelected } from '#bundles/trust/accept/is-selected';
import type { StagePlan } from '../../model/promotion.ts';
import { EVERYONE } from '../../release/rollout/plan-rollout.ts';
import type { AgentRow, SiteRow } from '../store/tables.ts';
import { labelsOf } from './agent-record.ts';
import { siteValuesOf } from './issue-site.ts';
import type { ValueChange } from './set-values.ts';
import type { ValuesPolicies } from './values-policies.ts';
import type { GivenUnit, NewUnit } from './values-rollout.ts';

/** Changes of values, as they reach sites. */
export type SplitChanges = {
  readonly atOnce: readonly ValueChange[];
  readonly rollouts: readonly PlannedRollout[];
};

/** Places of one environment in the order of its stages; stages that would reach none are left out. */
export type PlannedRollout = {
  readonly environment: string;
  readonly plan: StagePlan;
  readonly isPinned: boolean;
  readonly units: readonly (NewUnit & { readonly content: GivenUnit })[];
};

export type SplitFacts = {
  readonly fleet: string;
  readonly policies: ValuesPolicies;
  /** Names of environments whose sites keep their values. */
  readonly pins: ReadonlySet<string>;
  readonly rows: ReadonlyMap<string, SiteRow>;
  /** Enrolled agents by site. */
  readonly agents: ReadonlyMap<string, readonly AgentRow[]>;
};

/**
 * Sorts changes into those that are made at once and rollouts. A change of one site is made at once, because no stage comes before another there. Of
 * several sites each gets its change with the first stage that selects all agents that it reaches; a site whose agents are of several environments
 * goes by the one with the most stages. Where an environment is pinned, its changes wait. Pure.
 */
export const splitByStage = (changes: readonly ValueChange[], facts: SplitFacts): SplitChanges => {
  const atOnce: ValueChange[] = [];
  const staged = new Map<string, { readonly change: ValueChange; readonly reached: readonly AgentRow[] }[]>();
  for (const change of mergeByPlace(changes)) {
    const reached = (facts.agents.get(change.site) ?? []).filter(
      ({ name }) => change.agent === undefined || name === change.agent,
    );
    const environment = environmentOf(reached, facts);
    // The answer to a local value changes nothing that runs there.
    const isAnswer = change.answers !== undefined;
    if (environment === undefined || isAnswer || !differs(change, facts)) atOnce.push(change);
    else staged.set(environment, [...(staged.get(environment) ?? []), { change, reached }]);
  }
  const rollouts: PlannedRollout[] = [];
  for (const [environment, all] of [...staged].toSorted(([a], [b]) => compareBytes(a, b))) {
    const isPinned = facts.pins.has(environment);
    if (!isPinned && new Set(all.map(({ change }) => change.site)).size === 1) {
      atOnce.push(...all.map(({ change }) => change));
      continue;
    }
    const whole = facts.policies.get(environment) ?? ONE_STAGE;
    const units = all.map(({ change, reached }) => ({
      site: change.site,
      agent: change.agent ?? '',
      stage: stageOf(whole, reached),
      content: { set: change.set, unset: change.unset, old: replacedBy(change, facts) },
    }));
    rollouts.push({ environment, isPinned, ...withoutEmptyStages(whole, units) });
  }
  return { atOnce, rollouts };
};

/** One change for each place, in which a later one of the same value counts, with all answers. */
const mergeByPlace = (changes: readonly ValueChange[]): readonly ValueChange[] =>
  [...Map.groupBy(changes, ({ site, agent = '' }) => JSON.stringify([site, agent])).values()].map((same) =>
    same.reduce((before, { site, agent, set, unset, answers }) => ({
      site,
      agent,
      set: Object.fromEntries(
        Object.entries({ ...before.set, ...set }).filter(([name]) => !unset.includes(name)),
      ),
      unset: [...before.unset.filter((name) => !Object.hasOwn(set, name) && !unset.includes(name)), ...unset],
      ...defined({
        answers: answers || before.answers ? [...(before.answers ?? []), ...(answers ?? [])] : undefined,
      }),
    })),
  );

/** The first stage that selects all of these agents: the last one selects every agent. */
export const stageOf = (
  { stages }: StagePlan,
  agents: readonly Pick<AgentRow, 'site' | 'name' | 'labels'>[],
): number => {
  const at = stages.findIndex(({ rollout }) =>
    agents.every((row) => isSelected(rollout, { site: row.site, agent: row.name }, labelsOf(row))),
  );
  return at === -1 ? stages.length - 1 : at;
};

/** Leaves out stages that bring no change: a change knows its places, so that an empty stage is no mistake. */
export const withoutEmptyStages = <T extends { readonly stage: number }>(
  plan: StagePlan,
  units: readonly T[],
): { readonly plan: StagePlan; readonly units: readonly T[] } => {
  const used = [...new Set(units.map(({ stage }) => stage))].toSorted((a, b) => a - b);
  const stages = plan.stages.filter((_, at) => used.includes(at));
  return {
    plan: { ...plan, stages },
    units: units.map((unit) => ({ ...unit, stage: used.indexOf(unit.stage) })),
  };
};

/** For a pinned environment without a RolloutPolicy. */
export const ONE_STAGE: StagePlan = {
  policy: 'none',
  stages: [{ name: 'all', rollout: EVERYONE, soakSeconds: 0, maxFailures: { count: 0 }, approvals: 0 }],
  deadlineSeconds: null,
  onFailure: 'stop',
  freshnessSeconds: null,
  absent: null,
};

const environmentOf = (
  agents: readonly AgentRow[],
  { policies, pins }: Pick<SplitFacts, 'policies' | 'pins'>,
): string | undefined => {
  const environments = [...new Set(agents.map(({ environment }) => environment))].toSorted(compareBytes);
  const pinned = environments.find((one) => pins.has(one));
  const stages = (name: string): number => policies.get(name)?.stages.length ?? 0;
  const most = environments.toSorted((a, b) => stages(b) - stages(a))[0];
  return pinned ?? (most !== undefined && stages(most) > 0 ? most : undefined);
};

const differs = (change: ValueChange, facts: SplitFacts): boolean => {
  const now = presentValues(change, facts);
  return (
    Object.entries(change.set).some(([name, value]) => !isSameJson(value, ownValue(now, name))) ||
    change.unset.some((name) => Object.hasOwn(now, name))
  );
};

type Values = Readonly<Record<string, Json>>;

const presentValues = (
  { site, agent }: ValueChange,
  { rows, fleet }: Pick<SplitFacts, 'rows' | 'fleet'>,
): Values => givenValues(siteValuesOf(rows.get(site), fleet, site), agent);

const replacedBy = (change: ValueChange, facts: SplitFacts): Values => {
  const now = presentValues(change, facts);
  return Object.fromEntries(
    [...Object.keys(change.set), ...change.unset].flatMap((name) => {
      const value = ownValue(now, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
};
