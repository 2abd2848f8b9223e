import type { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import type { ChannelLayers } from '../../../plan/validate/sites/channel-layers.ts';
import { describeFaults } from '../../../plan/validate/sites/describe-faults.ts';
import { judgePlaces } from '../../../plan/validate/sites/judge-places.ts';
import { channelOf, labelsOf } from '../agent-record.ts';
import { layeredAgent } from '../../../plan/compose/layered-agent.ts';
import type { SiteFacts } from './plan-sites.ts';

/**
 * The values that sites lack, and values of people that do not fit, by the releases of their channels: the package that takes them is held at this
 * site, and no other. By site; sites without such a value are left out.
 * @param layers by formatChannel
 */
export const findLacking = async (
  sites: readonly SiteFacts[],
  layers: ReadonlyMap<string, ChannelLayers>,
): Promise<ReadonlyMap<string, readonly FleetError[]>> => {
  const places = sites.flatMap(({ values, agents }) =>
    agents.flatMap((row) => {
      const name = formatChannel(channelOf(row));
      const channel = layers.get(name);
      if (!channel) return [];
      const agent = layeredAgent({ ...row, labels: labelsOf(row) }, channel.released);
      return [{ agent, channels: [name], document: values, known: 'enrolled' as const }];
    }),
  );
  const faults = await judgePlaces(places, layers);
  const lacking = faults.filter(
    (fault) =>
      fault.kind === 'missing' ||
      // Values of a layer that do not fit hold the whole site (planSites).
      ((fault.kind === 'wrong' || fault.kind === 'unusable') && fault.at === undefined),
  );
  return new Map(
    [...Map.groupBy(lacking, ({ place }) => place.agent.site)].map(([site, own]) => [
      site,
      describeFaults(own).map(({ error }) => error),
    ]),
  );
};
