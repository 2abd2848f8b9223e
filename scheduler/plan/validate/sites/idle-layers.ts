import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { formatChannel } from '#bundles/names';
import type { SiteLayer } from '../../../model/model.ts';
import { type LayeredAgent, matchesSite } from '../../compose/compose-site.ts';
import type { ChannelLayers } from './channel-layers.ts';

/** An agent, and the channel that it follows as formatChannel writes it. */
export type FollowingAgent = { readonly agent: LayeredAgent; readonly channel: string };

/**
 * Layers that select no agent, and values that no assignment of the selected agents takes. Each is advice.
 * @param channels by formatChannel @param what the agents are: 'enrolled agent'
 */
export const idleLayers = (
  agents: readonly FollowingAgent[],
  channels: ReadonlyMap<string, ChannelLayers>,
  what = 'enrolled agent',
): readonly FleetError[] => {
  const byEnvironment = Map.groupBy(channels.values(), ({ channel }) => channel.environment);
  return [...byEnvironment].flatMap(([environment, own]) => {
    const known = new Map(own.map((one) => [formatChannel(one.channel), one]));
    const seen = agents.flatMap(({ agent, channel: name }) => {
      const channel = known.get(name);
      return channel ? [{ channel, agent }] : [];
    });
    const layers = new Map(
      own.flatMap(({ released }) => (released?.layers ?? []).map((one) => [`${one.path} ${one.name}`, one])),
    );
    return [...layers.values()].flatMap((layer) => {
      const selected = seen.filter(({ agent }) => matchesSite(layer.siteSelector, agent));
      return selected.length === 0
        ? [
            selectsNobody(
              layer,
              `${what} of ${environment}`,
              seen.map(({ agent }) => agent),
            ),
          ]
        : untaken(layer, environment, new Set(selected.map(({ channel }) => channel)));
    });
  });
};

const selectsNobody = (
  { name, siteSelector, at }: SiteLayer,
  what: string,
  agents: readonly LayeredAgent[],
): FleetError => {
  const pairs = Object.entries(siteSelector);
  const alone = pairs.find(([key, value]) => !agents.some((agent) => matchesSite({ [key]: value }, agent)));
  const named = alone ? [alone] : pairs;
  const [key = '', value = ''] = alone ?? [];
  const there = new Set(agents.flatMap(({ site, agent, labels }) => ({ ...labels, site, agent })[key] ?? []));
  return new FleetError(
    'REFERENCE_MISSING',
    `Config ${name} selects ${named.map((pair) => pair.join('=')).join(', ') || 'every site'}, which no ${what} has`,
    { subject: `Config ${name}`, at, hint: `${didYouMean(value, there) ?? ''}Its values reach no site` },
  );
};

const untaken = (
  { name, values, places, at }: SiteLayer,
  environment: string,
  channels: ReadonlySet<ChannelLayers>,
): readonly FleetError[] =>
  Object.keys(values)
    .filter((key) => ![...channels].some(({ takers }) => takers.some(({ takes }) => takes(key))))
    .map(
      (key) =>
        new FleetError(
          'REFERENCE_MISSING',
          `Config ${name} gives sites the value ${key}, which no application of ${environment} takes there`,
          {
            subject: `Config ${name}`,
            at: places[key] ?? at,
            hint: 'Let an application ask for it under siteInputs, or remove it',
          },
        ),
    );
