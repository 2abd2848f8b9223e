import type { FleetError } from '#bundles/errors';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { formatChannel } from '#bundles/names';
import type { ReleasedLayers } from '../../../load/releases/site-layers-document.ts';
import { type ChannelLayers, channelLayers } from './channel-layers.ts';
import { type ConfigsBefore, describeFaults, type SiteFinding } from './describe-faults.ts';
import { type FollowingAgent, idleLayers } from './idle-layers.ts';
import { judgePlaces } from './judge-places.ts';
import {
  declaredPlaces,
  type EnrolledAgent,
  enrolledPlace,
  selectedPlaces,
  type SitePlace,
} from './site-places.ts';

/** Agents of the hub, and the bundles that they follow now. */
export type Enrolled = { readonly agents: readonly EnrolledAgent[]; readonly before: ConfigsBefore };

export type SiteAdvice = {
  readonly findings: readonly SiteFinding[];
  /** Layers that select no agent, and values that no application takes. */
  readonly idle: readonly FleetError[];
};

/**
 * Says for the sites of one environment, with the layers and bundles that a build would release, which values are missing, do not fit, or have no
 * taker, and which layers tie or reach nobody. Agents that only the repository declares are judged by its values alone.
 * @param bundles by cluster type
 * @param enrolled undefined: no hub is known, and only the repository is judged
 */
export const adviseSites = async (
  released: ReleasedLayers,
  bundles: ReadonlyMap<string, readonly BundleConfig[]>,
  enrolled: Enrolled | undefined,
): Promise<SiteAdvice> => {
  const { environment } = released;
  const channels = new Map(
    [...bundles].map(([clusterType, configs]): [string, ChannelLayers] => {
      const channel = { environment, clusterType };
      return [formatChannel(channel), channelLayers(channel, configs, released)];
    }),
  );
  const names = [...channels.keys()];
  const known = (enrolled?.agents ?? []).filter(({ channel }) => channel.environment === environment);
  const real = [
    ...known.map((one) => enrolledPlace(one, released)),
    ...declaredPlaces(released, names, known),
  ];
  const selected = selectedPlaces(released, names);
  const faults = await judgePlaces([...real, ...selected], channels);
  const what = enrolled ? 'declared or enrolled agent' : 'declared site';
  // Without any known site each layer reaches an agent that fits it.
  const following = real.length > 0 ? real : selected;
  return {
    findings: describeFaults(faults, enrolled?.before),
    idle: idleLayers(following.flatMap(followingOf), channels, what),
  };
};

const followingOf = ({ agent, channels }: SitePlace): readonly FollowingAgent[] =>
  channels.map((channel) => ({ agent, channel }));
