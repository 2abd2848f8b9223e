import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { compareBytes } from '#bundles/digest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { formatChannel } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import type { ValuesSelection } from '#bundles/schemas/types/hub-decisions';
import type { Labels } from '../../../model/model.ts';
import type { Hub } from '../../hub.ts';
import { channelOf, channelsOf } from '../../sites/agent-record.ts';
import { readNeeds } from '../../sites/read-needs.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { readChannelLayers } from '../../sites/read-channel-layers.ts';
import { selectAgents } from '../../sites/select-sites.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import { editableBy } from './rules-for.ts';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { mayChange, seesValues, toValuesAgent, type ValuesAgent } from './values-access.ts';

type Selected = ValuesSelection['values'][number];

/** Values given at places, the most frequent first: more of them help nobody. */
const MAX_GIVEN = 10;

/** An agent of a selected site, whether it has the labels, and whether the caller sees its values. */
type Reached = ValuesAgent & { readonly channel: string; readonly fits: boolean; readonly isSeen: boolean };

/**
 * The values that agents with these labels take: what a form needs to change one at all their sites, or at the agents themselves.
 * @param agents the values of the agents, not of their sites
 * @throws FleetError SITE_MISSING if no agent has the labels; the codes of the layout
 */
export const answerSelection = async (
  hub: Hub,
  { select, agents }: { readonly select: Labels; readonly agents: boolean },
  allowances: readonly Allowance[],
): Promise<Omit<ValuesSelection, 'at'>> => {
  const { db, fleet } = hub.store;
  const { bySite } = await selectAgents(db, select);
  const rows = (await db.selectFrom('agent').selectAll().where('revoked_at', 'is', null).execute()).filter(
    ({ site }) => bySite.has(site),
  );
  const channels = channelsOf(rows);
  const { layers } = await readChannelLayers(hub, channels);
  const needs = await readNeeds(hub, channels, new Map());
  const reached = rows.map((row): Reached => {
    const agent = toValuesAgent(row, layers);
    return {
      ...agent,
      channel: formatChannel(channelOf(row)),
      fits: bySite.get(row.site)?.includes(row.name) === true,
      isSeen: seesValues(allowances, agent),
    };
  });
  const agentsOf = Map.groupBy(reached, ({ site }) => site);
  const seen = [...bySite.keys()]
    .filter((site) => agentsOf.get(site)?.some(({ isSeen, fits }) => isSeen && (fits || !agents)))
    .toSorted(compareBytes);
  const siteRows = new Map(
    (await db.selectFrom('site').selectAll().execute()).map((row) => [row.name, row] as const),
  );

  /** Where a value is given, and the agents that it reaches. */
  const places = seen.flatMap((site) => {
    const own = siteValuesOf(siteRows.get(site), fleet, site);
    const all = agentsOf.get(site) ?? [];
    if (!agents) return [{ site, reached: all, given: own.values }];
    return all
      .filter(({ fits }) => fits)
      .map((one) => ({ site, reached: [one], given: own.agents[one.agent] ?? {} }));
  });
  const inputsOf = (channel: string) => needs.get(channel)?.inputs ?? {};
  const takes = (agentsThere: readonly Reached[], name: string): readonly string[] => [
    ...new Set(
      agentsThere.map(({ channel }) => channel).filter((channel) => Object.hasOwn(inputsOf(channel), name)),
    ),
  ];
  /** Places with the agents that the caller sees, of which values are shown. A right is needed for every agent that a value reaches. */
  const shown = places.flatMap((place) => {
    const own = place.reached.filter(({ isSeen }) => isSeen);
    return own.length === 0 ? [] : [{ ...place, own }];
  });
  const isHidden = await readHiddenIn(hub, needs);
  const refused = new Map<string, Set<string>>(seen.map((site) => [site, new Set()]));
  const names = [
    ...new Set(shown.flatMap(({ own }) => own.flatMap(({ channel }) => Object.keys(inputsOf(channel))))),
  ].toSorted(compareBytes);
  const values = names.map((name): Selected => {
    const taking = shown.filter(({ own }) => takes(own, name).length > 0);
    for (const { site, reached: all } of places) {
      const asked = takes(all, name);
      const roles = asked.map((channel) => editableBy(inputsOf(channel), name));
      if (asked.length > 0 && !mayChange(allowances, { site, agents: all }, roles))
        refused.get(site)?.add(name);
    }
    const asking = [...new Set(taking.flatMap(({ own }) => takes(own, name)))].toSorted(compareBytes);
    const [schema = {}, ...rest] = asking.map((channel) => inputsOf(channel)[name] as Json);
    return {
      name,
      schema,
      others: asking.slice(1).filter((_, index) => !isSameJson(rest[index], schema)),
      editableBy: editableBy(inputsOf(asking[0] ?? ''), name) ?? null,
      editable: taking.some(({ site }) => refused.get(site)?.has(name) !== true),
      hidden: isHidden(name),
      places: taking.length,
      given: countGiven(
        taking.map(({ given }) => ownValue(given, name)),
        isHidden(name),
      ),
    };
  });
  return {
    select,
    agents,
    sites: seen.map((site) => ({
      site,
      version: siteRows.get(site)?.version ?? 0,
      agents: (agentsOf.get(site) ?? [])
        .filter(({ fits, isSeen }) => fits && isSeen)
        .map(({ agent }) => agent)
        .toSorted(compareBytes),
      refused: [...(refused.get(site) ?? [])],
    })),
    unseen: bySite.size - seen.length,
    others: agents
      ? []
      : seen.flatMap((site) =>
          (agentsOf.get(site) ?? [])
            .filter((one) => !one.fits && one.isSeen)
            .map((one) => `${site}/${one.agent}`)
            .toSorted(compareBytes),
        ),
    values,
  };
};

const countGiven = (given: readonly (Json | undefined)[], isHidden: boolean): Selected['given'] => {
  const shown = given.filter((one) => one !== undefined).map((one) => (isHidden ? WITHHELD : one));
  const counted = Map.groupBy(shown, (one) => canonicalBytes(one).toString());
  return [...counted]
    .map(([text, { length }]) => ({ value: JSON.parse(text) as Json, places: length }))
    .toSorted((a, b) => b.places - a.places)
    .slice(0, MAX_GIVEN);
};
