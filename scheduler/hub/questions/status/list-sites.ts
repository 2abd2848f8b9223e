import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { FreshnessPolicy } from '../../../model/promotion.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { seesWhole, type Visible } from '../../people/visible.ts';
import type { Database } from '../../store/tables.ts';
import { type Freshness, freshnessOf, freshnessPolicyFor } from '../state/freshness.ts';
import { isIn } from '../state/part.ts';
import { type ActualFilter, readStates } from '../state/read-actual.ts';
import { channelsOf, type KnownAgent, readAgents, siteOf, withoutStates } from '../state/read-agents.ts';
import { readDesired } from '../state/read-desired.ts';
import { readStandings, type Standing } from '../state/read-standings.ts';
import {
  type ActualAgent,
  type Desired,
  withStaleness,
  type Row,
  type Verdict,
  whatRunsWhere,
} from '../state/what-runs-where.ts';
import { readHeld } from '../../sites/layers/compose-sites.ts';
import { type HeldValues, heldValues, wholeSites } from './held-sites.ts';
import { limitPart } from './limit-part.ts';
import { headOf, readBackground, type StatusHub } from './read-status.ts';

/** Assignments of a site that are judged alike. */
export type SiteState = {
  readonly verdict: Verdict;
  readonly silent: boolean;
  /** The service of the agent does not run. */
  readonly stopped: boolean;
  readonly freshness: Freshness;
  readonly count: number;
};

export type SiteSummary = {
  readonly site: string;
  readonly agents: number;
  readonly assignments: number;
  readonly channels: readonly string[];
  /** The oldest time that the words of its agents describe, of those that ever spoke; null: none did. */
  readonly saidAt: Timestamp | null;
  /** Agents whose host needs a reboot. */
  readonly reboots: number;
  /** The most frequent first. An agent without assignments counts as one. */
  readonly states: readonly SiteState[];
  /** Absent: nothing holds its values. */
  readonly held?: HeldValues;
};

export type SitesAnswer = ReturnType<typeof headOf> & {
  readonly sites: readonly SiteSummary[];
  readonly next: string | null;
};

/**
 * Summarises sites in the order of their names. The states of assignments are read only of agents that differ from the releases of
 * their channels. @param page counts sites @throws FleetError USAGE for the cursor
 */
export const listSites = async (
  hub: StatusHub,
  filter: ActualFilter,
  page: Page,
  now: Date,
): Promise<SitesAnswer> => {
  const { db } = hub.store;
  const background = await readBackground(hub, filter, now, {});
  const { rows: names, next } = cutPage(await readNames(db, filter, page), page.limit, (name) => [name]);
  const agents = await readPageAgents(db, filter, names);
  const desired = await readDesired(hub.layout, channelsOf(agents.map(withoutStates(now))), hub.keys.root);
  const { policies } = background.freshness;
  const judged = await judgeAgents(db, agents, desired, { visible: filter.visible, policies, now });
  const bySite = Map.groupBy(judged, ({ agent }) => agent.site);
  const held = await readHeld(
    db,
    wholeSites(
      judged.map(({ agent }) => agent),
      filter.visible,
    ),
  );
  return {
    ...headOf(background),
    // Of a site whose agents the reader may not see nothing is left.
    sites: [...bySite].map(([site, of]) =>
      defined({ ...summarize(site, of), held: heldValues(held.get(site)) }),
    ),
    next,
  };
};

/** Names of the sites of a page and of one more. */
const readNames = async (
  db: Database,
  filter: ActualFilter,
  { limit, cursor }: Page,
): Promise<readonly string[]> => {
  let query = db
    .selectFrom('agent')
    .select('agent.site')
    .distinct()
    .where('agent.revoked_at', 'is', null)
    .where(isIn(filter))
    .orderBy('agent.site')
    .limit(limit + 1);
  if (cursor !== undefined) query = query.where('agent.site', '>', decodeCursor(cursor, [''] as const)[0]);
  return (await query.execute()).map(({ site }) => site);
};

const readPageAgents = async (
  db: Database,
  filter: ActualFilter,
  names: readonly string[],
): Promise<readonly KnownAgent[]> => {
  const [first, last] = [names[0], names.at(-1)];
  if (first === undefined || last === undefined) return [];
  const agents = await readAgents(db, { ...filter, sites: [first, last] });
  return agents.toSorted((a, b) => compareBytes(siteOf(a), siteOf(b)));
};

/** An agent with its visible assignments, counted by verdict. */
type Judged = {
  readonly agent: ActualAgent;
  readonly assignments: number;
  readonly states: readonly SiteState[];
};

type Judging = {
  readonly visible: Visible | undefined;
  readonly policies: readonly FreshnessPolicy[];
  readonly now: Date;
};

const judgeAgents = async (
  db: Database,
  agents: readonly KnownAgent[],
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
    return [{ agent, assignments: verdicts.assignments, states }];
  });
};

type Verdicts = { readonly assignments: number; readonly byVerdict: ReadonlyMap<Verdict, number> };

const verdictsOf = (standing: Standing | undefined, desired: Desired | undefined): Verdicts | undefined => {
  switch (standing?.kind) {
    case 'complies': {
      const assignments = desired?.kind === 'release' ? desired.packages.size : 0;
      return { assignments, byVerdict: new Map([['complies', Math.max(assignments, 1)]]) };
    }
    case 'differs':
      return countRows(standing.rows);
    case undefined:
      return undefined;
  }
};

const countRows = (rows: readonly Pick<Row, 'assignment' | 'verdict'>[]): Verdicts => ({
  assignments: rows.filter(({ assignment }) => assignment !== null).length,
  byVerdict: new Map(
    [...Map.groupBy(rows, ({ verdict }) => verdict)].map(([verdict, of]) => [verdict, of.length]),
  ),
});

/** Agents of environments of which the reader may see only some assignments, counted by these alone. */
const readLimited = async (
  db: Database,
  agents: readonly KnownAgent[],
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

const summarize = (site: string, agents: readonly Judged[]): SiteSummary => {
  const alike = Map.groupBy(
    agents.flatMap(({ states }) => states),
    ({ verdict, silent, stopped, freshness }) => `${verdict} ${silent} ${stopped} ${freshness}`,
  );
  const states = [...alike.values()].flatMap(([first, ...more]) =>
    first ? [{ ...first, count: more.reduce((sum, { count }) => sum + count, first.count) }] : [],
  );
  const words = agents.flatMap(({ agent: { saidAt } }) => saidAt ?? []);
  return {
    site,
    agents: agents.length,
    assignments: agents.reduce((sum, { assignments }) => sum + assignments, 0),
    channels: [...new Set(agents.map(({ agent }) => formatChannel(agent.channel)))].toSorted(),
    saidAt: words.toSorted()[0] ?? null,
    reboots: agents.filter(({ agent: { reboot } }) => reboot?.required).length,
    states: states.toSorted((a, b) => b.count - a.count || (a.verdict < b.verdict ? -1 : 1)),
  };
};
