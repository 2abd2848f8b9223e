import { defined } from '#bundles/defined';
import { formatTime } from '#bundles/time';
import type { Printed } from '#cli/format-table';
import type { FreshnessPolicy } from '../../../model/promotion.ts';
import type { Hub } from '../../hub.ts';
import type { Page } from '../../page.ts';
import { seesLink, seesWhole } from '../../people/visible.ts';
import { type HeldSite, readHeld } from '../../sites/layers/compose-sites.ts';
import { describeFailures } from './describe-failures.ts';
import { describeFreshness, describeStatus, describeVisits } from './describe-status.ts';
import type { FreshnessPolicies } from '../state/freshness.ts';
import { readFreshness } from '../state/freshness-policies.ts';
import { describeLinks, type LinkState, readLinkStates } from '../state/link-states.ts';
import { withPromotions } from '../state/promoted-links.ts';
import { type Actual, type ActualFilter, readActual } from '../state/read-actual.ts';
import { channelsOf } from '../state/read-agents.ts';
import { readDesired } from '../state/read-desired.ts';
import { describeHeldSites, heldSites, wholeSites } from './held-sites.ts';
import { renderNarrow } from './render-narrow.ts';
import { isQuiet } from './attention.ts';
import { limitPart } from './limit-part.ts';
import { renderTable } from './render-table.ts';
import { type Desired, type Row, whatRunsWhere } from '../state/what-runs-where.ts';

export type StatusAnswer = {
  /** For people: the full table and the notes below it. */
  readonly lines: readonly Printed[];
  /** The same with fewer columns. */
  readonly narrow: readonly Printed[];
  /** For programs (docs/hub-api.md). */
  readonly json: object;
};

/** Makes the table of a status. */
export type Render = (rows: readonly Row[], now: Date) => readonly Printed[];

export type StatusOptions = {
  readonly signal?: AbortSignal;
  /** Freshness policies of a platform, instead of those that `serve` stored. */
  readonly platform?: readonly FreshnessPolicy[] | undefined;
  /** A part of the agents; without it all. */
  readonly page?: Page | undefined;
};

/**
 * Status of agents and their packages: a page of the answer of `fleet-scheduler status` and of the hub's API, or all of a small
 * fleet.
 */
export const readStatus = async (
  hub: StatusHub,
  filter: ActualFilter,
  now: Date,
  options: StatusOptions = {},
): Promise<StatusAnswer> => {
  const background = await readBackground(hub, filter, now, options);
  const part = await readPart(hub, background, options.page, options.signal);
  const { actual, rows } = part;
  const notes = [
    ...notesOf(background, part, rows),
    ...(actual.next === null ? [] : [`More agents: cursor=${actual.next}`]),
  ];
  const show = (render: Render): readonly Printed[] =>
    rows.length === 0 ? [describeNobody(filter)] : [...render(rows, now), '', ...notes];
  return {
    // Rendered when asked for: of a whole fleet each takes as long as reading it.
    get lines() {
      return show(renderTable);
    },
    get narrow() {
      return show(renderNarrow);
    },
    json: {
      ...headOf(background),
      rows,
      ...tailOf(background, part, rows, notes),
      ...defined({ next: options.page ? actual.next : undefined }),
    },
  };
};

export type StatusHub = Pick<Hub, 'store' | 'layout' | 'keys'>;

/** Inputs of a status, read once. */
export type Background = {
  readonly held: ReadonlyMap<string, HeldSite>;
  readonly fleet: string;
  readonly filter: ActualFilter;
  readonly now: Date;
  readonly freshness: FreshnessPolicies;
  readonly links: readonly LinkState[];
};

export const readBackground = async (
  { store, ...hub }: StatusHub,
  filter: ActualFilter,
  now: Date,
  { platform }: StatusOptions,
): Promise<Background> => ({
  fleet: store.fleet,
  filter,
  now,
  held: await readHeld(store.db, filter.site === undefined ? undefined : [filter.site]),
  freshness: platform ? { from: 'platform', policies: platform } : await readFreshness(store.db),
  links: (await withPromotions(hub, await readLinkStates(store.db, filter.environment), filter.environment))
    .filter(({ to }) => seesLink(filter.visible, to))
    // The reason may name agents and assignments of others.
    .map((link) => (seesWhole(filter.visible, link.to) ? link : { ...link, why: null })),
});

/** Agents with their desired packages, and the comparison. */
export type StatusPart = {
  readonly actual: Actual;
  readonly desired: ReadonlyMap<string, Desired>;
  readonly rows: readonly Row[];
};

export const readPart = async (
  hub: StatusHub,
  { filter, now, freshness }: Background,
  page: Page | undefined,
  signal: AbortSignal | undefined,
): Promise<StatusPart> => {
  const read = await readActual(hub.store.db, filter, now, page);
  const wanted = await readDesired(hub.layout, channelsOf(read.agents), hub.keys.root, signal);
  const { actual, desired } = limitPart(filter.visible, { actual: read, desired: wanted });
  return { actual, desired, rows: whatRunsWhere(desired, actual.agents, now, freshness) };
};

/** @param rows at least the rows of failures */
export const notesOf = (
  { now, freshness, links, ...background }: Background,
  { actual, desired }: Omit<StatusPart, 'rows'>,
  rows: readonly Row[],
): readonly string[] => [
  ...describeFailures(rows, now),
  ...describeStatus(desired, actual, now),
  ...describeHeldSites(heldOf(background, actual)),
  ...describeVisits(actual, freshness, now),
  ...describeFreshness(freshness),
  ...describeLinks(links),
];

export const headOf = ({ fleet, now, freshness, links }: Background) => ({
  fleet,
  at: formatTime(now),
  freshness,
  links,
});

/** Held sites of these agents, as far as the reader may see their whole environments. */
export const heldOf = (
  { held, filter }: Pick<Background, 'held' | 'filter'>,
  { agents }: Pick<Actual, 'agents'>,
): ReadonlyMap<string, HeldSite> => {
  if (held.size === 0) return held;
  const sites = wholeSites(agents, filter.visible);
  return new Map(
    sites.flatMap((site) => {
      const one = held.get(site);
      return one ? [[site, one] as const] : [];
    }),
  );
};

/** @param rows at least those that need a look */
export const tailOf = (
  background: Pick<Background, 'held' | 'filter'>,
  { actual: { gaps, alarms, ...actual } }: Pick<StatusPart, 'actual'>,
  rows: readonly Row[],
  notes: readonly string[],
) => ({
  needALook: rows.filter((row) => !isQuiet(row)).length,
  gaps,
  alarms: alarms.map(({ agent, code, message, report, raised_at }) => ({
    agent,
    code,
    message,
    report,
    raisedAt: raised_at,
  })),
  heldSites: heldSites(heldOf(background, actual)),
  notes,
});

export const describeNobody = (filter: ActualFilter): string =>
  `No agent${describeFilter(filter)} is enrolled here.`;

const describeFilter = ({ environment, site }: ActualFilter): string => {
  const parts = [environment && `environment ${environment}`, site && `site ${site}`].filter(Boolean);
  return parts.length === 0 ? '' : ` of ${parts.join(' and ')}`;
};
