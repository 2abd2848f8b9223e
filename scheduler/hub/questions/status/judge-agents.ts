import { formatChannel } from '#bundles/names';
import type { SiteState } from '#bundles/schemas/types/hub-decisions';
import type { FreshnessPolicy } from '../../../model/promotion.ts';
import { seesWhole, type Visible } from '../../people/visible.ts';
import type { Database } from '../../store/tables.ts';
import { type Freshness, freshnessOf, freshnessPolicyFor } from '../state/freshness.ts';
import { readStates } from '../state/read-actual.ts';
import { type FleetAgent, withoutStates } from '../state/read-agents.ts';
import { readStandings, type Standing } from '../state/read-standings.ts';
import {
  type ActualAgent,
  type Desired,
  type JudgedAssignment,
  type Verdict,
  whatRunsWhere,
  withStaleness,
} from '../state/what-runs-where.ts';
import { limitPart } from './limit-part.ts';

/** An agent with its visible assignments, counted by verdict. */
export type Judged = {
  readonly agent: ActualAgent;
  readonly assignments: number;
  readonly states: readonly SiteState[];
  readonly freshness: Freshness;
  /** Empty: each assignment complies. Agents that are alike share the rows. */
  readonly rows: readonly JudgedAssignment<unknown>[];
};

type Judging = {
  readonly visible: Visible | undefined;
  readonly policies: readonly FreshnessPolicy[];
  readonly now: Date;
};

/** Judges agents, in their order, without those of which the reader may see nothing. @param desired by formatChannel */
export const judgeAgents = async (
  db: Database,
  agents: readonly FleetAgent[],
  desired: ReadonlyMap<string, Desired>,
  { visible, policies, now }: Judging,
): Promise<readonly Judged[]> => {
  const toActual = withoutStates(now);
  const whole = agents.filter(({ environment }) => seesWhole(visible, environment));
  const take = (standing: Standing, at: number) => [whole[at], standing] as const;
  const standings = new Map(await readStandings(db, whole, { desired, now, take }));
  const limited = await readLimited(db, agents, desired, { visible, now });
  return agents.flatMap((row) => {
    const agent = toActual(row);
    const verdicts =
      verdictsOf(standings.get(row), desired.get(formatChannel(agent.channel))) ?? limited.get(row.id);
    if (verdicts === undefined) return [];
    const policy = freshnessPolicyFor(policies, agent.channel);
    const freshness = freshnessOf(agent.reported ? agent.saidAt : null, policy, now);
    const states = [...verdicts.byVerdict].map(
      ([verdict, count]): SiteState => ({
        verdict: withStaleness(verdict, freshness),
        silent: agent.silent,
        stopped: agent.stopped === true,
        freshness,
        count,
      }),
    );
    return [{ agent, assignments: verdicts.assignments, states, freshness, rows: verdicts.rows }];
  });
};

type Verdicts = {
  readonly assignments: number;
  readonly byVerdict: ReadonlyMap<Verdict, number>;
  readonly rows: Judged['rows'];
};

const verdictsOf = (standing: Standing | undefined, desired: Desired | undefined): Verdicts | undefined => {
  switch (standing?.kind) {
    case 'complies': {
      const assignments = desired?.kind === 'release' ? desired.packages.size : 0;
      return { assignments, byVerdict: new Map([['complies', Math.max(assignments, 1)]]), rows: [] };
    }
    case 'differs':
      return countRows(standing.rows);
    case undefined:
      return undefined;
  }
};

const countRows = (rows: Judged['rows']): Verdicts => ({
  rows,
  assignments: rows.filter(({ assignment }) => assignment !== null).length,
  byVerdict: new Map(
    [...Map.groupBy(rows, ({ verdict }) => verdict)].map(([verdict, of]) => [verdict, of.length]),
  ),
});

/** Agents of environments of which the reader may see only some assignments, counted by these alone. */
const readLimited = async (
  db: Database,
  agents: readonly FleetAgent[],
  desired: ReadonlyMap<string, Desired>,
  { visible, now }: Pick<Judging, 'visible' | 'now'>,
): Promise<ReadonlyMap<string, Verdicts>> => {
  const part = agents.filter(({ environment }) => !seesWhole(visible, environment));
  if (part.length === 0) return new Map();
  const states = await readStates(db, { agents: part.map(({ id }) => id) });
  const toActual = withoutStates(now);
  const read = part.map((row) => ({ ...toActual(row), states: states.get(row.id) ?? [] }));
  const limited = limitPart(visible, { actual: { agents: read, gaps: [], alarms: [], next: null }, desired });
  const rows = whatRunsWhere(limited.desired, limited.actual.agents, now);
  return new Map(
    [...Map.groupBy(rows, ({ site, agent }) => `${site}/${agent}`)].map(([id, of]) => [id, countRows(of)]),
  );
};

/** Counts the assignments of several agents that are judged alike, the most frequent first. */
export const sumStates = (agents: readonly Pick<Judged, 'states'>[]): readonly SiteState[] => {
  const alike = Map.groupBy(
    agents.flatMap(({ states }) => states),
    ({ verdict, silent, stopped, freshness }) => `${verdict} ${silent} ${stopped} ${freshness}`,
  );
  const states = [...alike.values()].flatMap(([first, ...more]) =>
    first ? [{ ...first, count: more.reduce((sum, { count }) => sum + count, first.count) }] : [],
  );
  return states.toSorted((a, b) => b.count - a.count || (a.verdict < b.verdict ? -1 : 1));
};
