import { canonicalJson } from '#bundles/json/canonical';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { type Channel, formatChannel } from '#bundles/names';
import { labelCount } from '../../../model/label-count.ts';
import type { ReleasedLayers } from '../../../load/releases/site-layers-document.ts';
import type { Labels, SiteLayer } from '../../../model/model.ts';
import { labelsForLayers, type LayeredAgent } from '../../compose/compose-site.ts';
import { layeredAgent } from '../../compose/layered-agent.ts';

/** An agent, or the labels that one could have, whose values are judged. */
export type SitePlace = {
  readonly agent: LayeredAgent;
  /** The channels that it follows, or could follow, as formatChannel writes them. */
  readonly channels: readonly string[];
  /** With the values that people gave. */
  readonly document: SiteValues;
  /**
   * `enrolled`: at the hub. `declared`: by the repository. `anywhere`: declared without its channel. `selected`: the labels that a layer
   * selects by. `together`: those of two layers, which no declared agent has.
   */
  readonly known: 'enrolled' | 'declared' | 'anywhere' | 'selected' | 'together';
};

/** 'plant-7/edge', 'plant-7', or 'an agent with region=north'. */
export const describePlace = ({ agent: { site, agent, labels }, known }: SitePlace): string => {
  if (known !== 'selected' && known !== 'together') return agent === '' ? site : `${site}/${agent}`;
  const pairs = Object.entries({ site, agent, ...labels }).filter(([, value]) => value !== '');
  return pairs.length === 0
    ? 'every agent'
    : `an agent with ${pairs.map((pair) => pair.join('=')).join(' and ')}`;
};

const NOTHING: SiteValues = { fleet: '', site: '', values: {}, agents: {} };

/** An agent as the hub knows it. */
export type EnrolledAgent = {
  readonly site: string;
  readonly agent: string;
  readonly labels: Labels;
  readonly channel: Channel;
  /** With the values that people gave. */
  readonly document: SiteValues;
};

export const enrolledPlace = (
  { site, agent, labels, channel, document }: EnrolledAgent,
  released: Pick<ReleasedLayers, 'sites'> | undefined,
): SitePlace => ({
  agent: layeredAgent({ site, name: agent, labels }, released),
  channels: [formatChannel(channel)],
  document,
  known: 'enrolled',
});

/**
 * The agents that a repository declares, without those that are enrolled.
 * @param all channels that an agent without a declared one could follow
 */
export const declaredPlaces = (
  { sites, environment }: Pick<ReleasedLayers, 'sites' | 'environment'>,
  all: readonly string[],
  enrolled: readonly Pick<EnrolledAgent, 'site' | 'agent'>[],
): readonly SitePlace[] => {
  const ids = new Set(enrolled.map(({ site, agent }) => `${site}/${agent}`));
  const known = new Set(enrolled.map(({ site }) => site));
  const places = [...sites.values()].flatMap((site): readonly SitePlace[] => {
    const place = (name: string, labels: Labels): Pick<SitePlace, 'agent' | 'document'> => ({
      agent: { site: site.name, agent: name, labels: labelsForLayers(site, labels) },
      document: NOTHING,
    });
    if (site.agents.length === 0) return [{ ...place('', {}), channels: all, known: 'anywhere' }];
    return site.agents.flatMap(({ name, channel, labels }): readonly SitePlace[] => {
      if (channel === undefined) return [{ ...place(name, labels), channels: all, known: 'anywhere' }];
      return channel.startsWith(`${environment}/`)
        ? [{ ...place(name, labels), channels: [channel], known: 'declared' }]
        : [];
    });
  });
  return places.filter(({ agent: { site, agent } }) =>
    agent === '' ? !known.has(site) : !ids.has(`${site}/${agent}`),
  );
};

/** Combinations of labels of two layers that are judged, at most. */
const MAX_TOGETHER = 10_000;

/**
 * The labels that layers select by: of each layer alone, and where no site is declared also of two layers that could tie.
 * @param all channels
 */
export const selectedPlaces = (
  { layers, sites }: Pick<ReleasedLayers, 'layers' | 'sites'>,
  all: readonly string[],
): readonly SitePlace[] => {
  const found = new Map<string, SitePlace>();
  const add = (selector: Labels, known: SitePlace['known']): void => {
    const { site = '', agent = '', ...labels } = selector;
    const key = canonicalJson(selector);
    if (!found.has(key))
      found.set(key, { agent: { site, agent, labels }, channels: all, document: NOTHING, known });
  };
  for (const { siteSelector } of layers) add(siteSelector, 'selected');
  if (sites.size === 0) for (const selector of togetherOf(layers)) add(selector, 'together');
  return [...found.values()];
};

/** Selectors of two layers with equally many labels that set one value, and that one agent could fit. */
const togetherOf = (layers: readonly SiteLayer[]): readonly Labels[] => {
  const found: Labels[] = [];
  const ranks = Map.groupBy(layers, (layer) => `${layer.from} ${labelCount(layer)} ${layer.fixed}`);
  for (const rank of ranks.values())
    for (const [index, first] of rank.entries())
      for (const second of rank.slice(index + 1)) {
        const [one, other] = [first.siteSelector, second.siteSelector];
        if (!Object.keys(first.values).some((name) => Object.hasOwn(second.values, name))) continue;
        if (Object.entries(one).some(([key, value]) => (other[key] ?? value) !== value)) continue;
        if (found.push({ ...one, ...other }) === MAX_TOGETHER) return found;
      }
  return found;
};
