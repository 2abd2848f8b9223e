import { defined } from '#bundles/defined';
import type { FleetError } from '#bundles/errors';
import { compareBytes } from '#bundles/digest';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import type { Json } from '#bundles/json/canonical';
import { formatChannel } from '#bundles/names';
import type { ValuesTree } from '#bundles/schemas/types/hub-decisions';
import type { Labels, SiteLayer } from '../../../model/model.ts';
import { plainValue } from '../../../model/plain-value.ts';
import { matchesSite } from '../../../plan/compose/compose-site.ts';
import type { Hub } from '../../hub.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { channelOf, channelsOf } from '../../sites/agent-record.ts';
import { readNeeds } from '../../sites/read-needs.ts';
import { findDifferences } from '../../sites/layers/find-differences.ts';
import { readHeld } from '../../sites/layers/compose-sites.ts';
import { readChannelLayers } from '../../sites/read-channel-layers.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import { commonLabels } from './answer-site-values.ts';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { seesValues, toValuesAgent, type ValuesAgent } from './values-access.ts';

/**
 * The layers of the newest releases, and the sites whose values a caller sees, by name. @param select labels that an agent of a site has
 * @throws FleetError USAGE for the cursor; the codes of the layout
 */
export const answerValuesTree = async (
  hub: Hub,
  { allowances, select }: { readonly allowances: readonly Allowance[]; readonly select: Labels },
  { limit, cursor }: Page,
): Promise<Omit<ValuesTree, 'at'>> => {
  const { db } = hub.store;
  const rows = await db.selectFrom('agent').selectAll().where('revoked_at', 'is', null).execute();
  const channels = channelsOf(rows);
  const { layers } = await readChannelLayers(hub, channels);
  const seen = rows
    .map((row) => ({ ...toValuesAgent(row, layers), channel: formatChannel(channelOf(row)) }))
    .filter((agent) => seesValues(allowances, agent));
  const bySite = Map.groupBy(
    seen.toSorted((a, b) => compareBytes(a.site, b.site) || compareBytes(a.agent, b.agent)),
    ({ site }) => site,
  );
  const fitting = [...bySite].filter(([, agents]) => agents.some((agent) => matchesSite(select, agent)));
  const after = cursor === undefined ? '' : decodeCursor(cursor, [''] as const)[0];
  const rest = fitting.filter(([site]) => compareBytes(site, after) > 0);
  const page = cutPage(rest.slice(0, limit + 1), limit, ([site]) => [site]);
  const held = await readHeld(db);
  const released = new Map(
    [...layers.values()].flatMap((one) =>
      one.released ? [[one.released.environment, one.released] as const] : [],
    ),
  );
  const advice = seen.length === rows.length ? findDifferences(rows, layers) : undefined;
  const isHidden = await readHiddenIn(hub, await readNeeds(hub, channels, new Map()));
  return {
    layers: [...released].flatMap(([environment, document]) =>
      document.layers.flatMap((layer) => describeLayer(layer, { environment, seen, isHidden })),
    ),
    ...defined({ advice: advice?.slice(0, MAX_ADVICE).map(toAdvice), advised: advice?.length }),
    labels: countLabels(bySite),
    total: fitting.length,
    sites: page.rows.map(([site, agents]) => ({
      site,
      labels: commonLabels(agents),
      agents: agents.map(({ agent, channel, labels }) => ({ agent, channel, labels })),
      held: held.has(site),
    })),
    next: page.next,
  };
};

/** Differences that are listed; a repository may declare thousands of sites that are not enrolled yet. */
const MAX_ADVICE = 50;

const toAdvice = ({ code, message, hint, at }: FleetError): NonNullable<ValuesTree['advice']>[number] => ({
  code,
  message,
  ...defined({ hint, file: at?.file, line: at?.line }),
});

const describeLayer = (
  { name, selector, siteSelector, fixed, path, at, values }: SiteLayer,
  {
    environment,
    seen,
    isHidden,
  }: { readonly environment: string; readonly seen: readonly ValuesAgent[]; readonly isHidden: IsHidden },
): ValuesTree['layers'] => {
  const selected = seen.filter(
    (agent) => agent.environment === environment && matchesSite(siteSelector, agent),
  );
  if (selected.length === 0) return [];
  const shown = Object.entries(plainValue(values) as { readonly [name: string]: Json });
  return [
    {
      name,
      environment,
      siteSelector,
      selector,
      fixed,
      file: path,
      line: at.line ?? null,
      values: Object.fromEntries(shown.map(([key, value]) => [key, isHidden(key) ? WITHHELD : value])),
      sites: new Set(selected.map(({ site }) => site)).size,
      agents: selected.length,
    },
  ];
};

/** Labels with more values than that are no level: each site has its own. */
const MAX_VALUES = 50;

const countLabels = (bySite: ReadonlyMap<string, readonly ValuesAgent[]>): ValuesTree['labels'] => {
  const counts = new Map<string, Map<string, number>>();
  for (const agents of bySite.values()) {
    const pairs = new Set(
      agents.flatMap(({ labels }) => Object.entries(labels).map((pair) => JSON.stringify(pair))),
    );
    for (const pair of pairs) {
      const [key, value] = JSON.parse(pair) as [string, string];
      const own = counts.get(key) ?? new Map<string, number>();
      own.set(value, (own.get(value) ?? 0) + 1);
      counts.set(key, own);
    }
  }
  return Object.fromEntries(
    [...counts]
      .filter(([, own]) => own.size <= MAX_VALUES)
      .map(([key, own]) => [key, Object.fromEntries(own)]),
  );
};
