import { FleetError, formatError, formatPlace } from '#bundles/errors';
import { parseValue } from '#bundles/formats/author-schema/parse-value';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { formatChannel } from '#bundles/names';
import { labelCount } from '../../model/label-count.ts';
import type { ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import type { Labels, SiteLayer } from '../../model/model.ts';
import { matchesSite } from '../../plan/compose/compose-site.ts';
import type { Enrolled } from '../../plan/validate/sites/advise-sites.ts';
import { type ChannelLayers, channelLayers } from '../../plan/validate/sites/channel-layers.ts';
import { describeFaults, type SiteFinding } from '../../plan/validate/sites/describe-faults.ts';
import { inputsOf, judgePlaces } from '../../plan/validate/sites/judge-places.ts';
import { declaredPlaces, enrolledPlace, type SitePlace } from '../../plan/validate/sites/site-places.ts';
import { formatTouched, type TouchedAgent, touchedAssignments } from './touched-agents.ts';

/** Labels that agents have, and values that a layer would give them. */
export type Hypothesis = {
  readonly labels: Labels;
  readonly values: Readonly<Record<string, Json>>;
};

export type ExplainedIf = Hypothesis & {
  /** Layers that select an agent with these labels, in ascending precedence. */
  readonly layers: readonly {
    readonly layer: string;
    readonly selects: readonly string[];
    readonly at: string;
  }[];
  /** Agents with these labels. Each with the assignments that the values would change. */
  readonly agents: readonly TouchedAgent[];
  /** Assignments that take one of the values, by the name of the value, as '<channel> <assignment>'. */
  readonly takers: Readonly<Record<string, readonly string[]>>;
  /** Ties, and values that are missing or do not fit, once the values are given. */
  readonly findings: readonly SiteFinding[];
};

/**
 * The consequences of a hypothesis: a layer of the base that selects by these labels and gives these values. Layers with more labels, of the
 * environment, and values of people stay above it.
 * @param channels as a build would make them, by formatChannel
 * @param enrolled undefined: only agents that the repository declares
 */
export const explainIf = async (
  { labels, values }: Hypothesis,
  channels: ReadonlyMap<string, ChannelLayers>,
  enrolled: Enrolled | undefined,
): Promise<ExplainedIf> => {
  const asked: SiteLayer = {
    name: '--if',
    selector: {},
    siteSelector: labels,
    values: values as SiteLayer['values'],
    places: {},
    fixed: false,
    from: 'base',
    path: '--if',
    at: { file: '--if' },
  };
  const after = new Map(
    [...channels].map(([name, { channel, configs, released }]): [string, ChannelLayers] => [
      name,
      channelLayers(channel, configs, withLayer(released ?? noLayers(channel.environment), asked)),
    ]),
  );
  const places = placesOf(channels, enrolled).filter(({ agent }) => matchesSite(labels, agent));
  const agents = places.flatMap((place) =>
    place.channels.flatMap((name): readonly TouchedAgent[] => {
      const [now, then] = [channels.get(name), after.get(name)];
      if (!now || !then) return [];
      const { site, agent } = place.agent;
      const assignments = touchedAssignments(agent, {
        before: { configs: now.configs, document: composedAt(place, now) },
        after: { configs: now.configs, document: composedAt(place, then) },
        packages: new Map(),
      });
      return [{ site, agent, channel: name, assignments }];
    }),
  );
  const found = await judgePlaces(places, after);
  const all = [...channels.values()].flatMap(({ released }) => released?.layers ?? []);
  return {
    labels,
    values,
    layers: [...new Map(all.map((one) => [`${one.path} ${one.name}`, one])).values()]
      .filter(({ siteSelector }) =>
        Object.entries(siteSelector).every(([key, value]) => labels[key] === value),
      )
      .map(({ name, selector, siteSelector, path, at }) => ({
        layer: name,
        selects: Object.entries({ ...selector, ...siteSelector }).map((pair) => pair.join('=')),
        at: formatPlace({ ...at, file: path }),
      })),
    agents,
    takers: Object.fromEntries(Object.keys(values).map((name) => [name, takersOfName(name, channels)])),
    findings: describeFaults(
      found.filter(({ kind }) => kind !== 'untaken'),
      enrolled?.before,
    ),
  };
};

const noLayers = (environment: string): ReleasedLayers => ({
  environment,
  layers: [],
  sites: new Map(),
  clusterTypes: new Map(),
  targets: new Map(),
  unread: [],
});

/** Adds a layer above those of the base with at most as many labels. */
const withLayer = (released: ReleasedLayers, layer: SiteLayer): ReleasedLayers => {
  const { layers } = released;
  const above = layers.findIndex((one) => one.from !== 'base' || labelCount(one) > labelCount(layer));
  return { ...released, layers: layers.toSpliced(above === -1 ? layers.length : above, 0, layer) };
};

const placesOf = (
  channels: ReadonlyMap<string, ChannelLayers>,
  enrolled: Enrolled | undefined,
): readonly SitePlace[] => {
  const agents = enrolled?.agents ?? [];
  const byEnvironment = Map.groupBy(channels.values(), ({ channel }) => channel.environment);
  return [
    ...agents.map((one) => enrolledPlace(one, channels.get(formatChannel(one.channel))?.released)),
    ...[...byEnvironment].flatMap(([environment, own]) =>
      declaredPlaces(
        { environment, sites: own[0]?.released?.sites ?? new Map() },
        own.map(({ channel }) => formatChannel(channel)),
        agents,
      ),
    ),
  ];
};

const composedAt = ({ agent, document }: SitePlace, channel: ChannelLayers): SiteValues => {
  const composed = channel.compose(agent).document;
  return { ...document, composed: composed ? { [agent.agent]: composed } : {} };
};

const takersOfName = (name: string, channels: ReadonlyMap<string, ChannelLayers>): readonly string[] =>
  [...channels].flatMap(([channel, { takers }]) =>
    takers.filter(({ takes }) => takes(name)).map(({ target }) => `${channel} ${target.name}`),
  );

/**
 * Parses 'region=north', 'port=8080': a name that an application or a layer gives or takes is a value, any other a label.
 * @throws FleetError USAGE
 */
export const parseIf = (
  terms: readonly string[],
  channels: ReadonlyMap<string, ChannelLayers>,
): Hypothesis => {
  const labels: Record<string, string> = {};
  const values: Record<string, Json> = {};
  for (const term of terms) {
    const at = term.indexOf('=');
    const name = term.slice(0, at);
    if (at < 1)
      throw new FleetError('USAGE', `${JSON.stringify(term)} is not <name>=<value>`, {
        hint: 'Write it like --if region=north,port=8080',
      });
    if (isValue(name, channels)) values[name] = parseValue(term)[1];
    else labels[name] = term.slice(at + 1);
  }
  return { labels, values };
};

const isValue = (name: string, channels: ReadonlyMap<string, ChannelLayers>): boolean =>
  [...channels.values()].some(
    ({ configs, released }) =>
      configs.some((config) => [...inputsOf(config).values()].some((names) => names.has(name))) ||
      released?.layers.some(({ values }) => Object.hasOwn(values, name)),
  );

/** Lines for people. */
export const formatIf = ({
  labels,
  values,
  layers,
  agents,
  takers,
  findings,
}: ExplainedIf): readonly string[] => {
  const who =
    Object.entries(labels)
      .map((pair) => pair.join('='))
      .join(', ') || 'every site';
  return [
    `labels  ${who}`,
    ...layers.map(
      ({ layer, selects, at }) =>
        `  Config ${layer} (${selects.join(', ') || 'every site'}) at ${at} applies`,
    ),
    ...Object.entries(values).flatMap(([name, value]) => [
      `value  ${name} = ${JSON.stringify(value)}`,
      ...(takers[name] ?? []).map((taker) => `  taken by ${taker}`),
      ...(takers[name]?.length === 0 ? ['  ! no application takes it'] : []),
    ]),
    ...(Object.keys(values).length === 0
      ? [
          ...agents.map(
            ({ site, agent, channel }) => `  ${[site, agent].filter(Boolean).join('/')}  ${channel}`,
          ),
          `${agents.length} agents have these labels`,
        ]
      : formatTouched(agents, agents.length)),
    ...findings.map(({ error }) => `! ${formatError(error)}`),
  ];
};
