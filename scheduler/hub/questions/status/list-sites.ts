import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { SiteState } from '#bundles/schemas/types/hub-decisions';
import type { Timestamp } from '#bundles/time';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { channelsOf } from '../../sites/agent-record.ts';
import type { Database } from '../../store/tables.ts';
import { isIn } from '../state/part.ts';
import type { ActualFilter } from '../state/read-actual.ts';
import { type KnownAgent, readAgents, siteOf } from '../state/read-agents.ts';
import { readDesired } from '../state/read-desired.ts';
import { type HeldValues, heldValues } from './held-sites.ts';
import { type Judged, judgeAgents, sumStates } from './judge-agents.ts';
import { headOf, heldOf, readBackground, type StatusHub } from './read-status.ts';

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
  const desired = await readDesired(hub.layout, channelsOf(agents), hub.keys.root);
  const { policies } = background.freshness;
  const judged = await judgeAgents(db, agents, desired, { visible: filter.visible, policies, now });
  const bySite = Map.groupBy(judged, ({ agent }) => agent.site);
  const held = heldOf(background, { agents: judged.map(({ agent }) => agent) });
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

const summarize = (site: string, agents: readonly Judged[]): SiteSummary => {
  const words = agents.flatMap(({ agent: { saidAt } }) => saidAt ?? []);
  return {
    site,
    agents: agents.length,
    assignments: agents.reduce((sum, { assignments }) => sum + assignments, 0),
    channels: [...new Set(agents.map(({ agent }) => formatChannel(agent.channel)))].toSorted(),
    saidAt: words.toSorted()[0] ?? null,
    reboots: agents.filter(({ agent: { reboot } }) => reboot?.required).length,
    states: sumStates(agents),
  };
};
