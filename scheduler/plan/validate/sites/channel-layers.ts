import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { Channel } from '#bundles/names';
import type { ReleasedLayers } from '../../../load/releases/site-layers-document.ts';
import type { Platform } from '../../../model/model.ts';
import { createSiteComposer, type SiteComposer, type Taker } from '../../compose/compose-site.ts';
import { takersOf } from '../../compose/takers-of.ts';

/** The layers of a channel, and the site values that its packages take. */
export type ChannelLayers = {
  readonly channel: Channel;
  /** undefined: there are no layers, nor declared sites. */
  readonly released: ReleasedLayers | undefined;
  readonly configs: readonly BundleConfig[];
  readonly takers: readonly Taker[];
  readonly compose: SiteComposer;
};

export const channelLayers = (
  channel: Channel,
  configs: readonly BundleConfig[],
  released: ReleasedLayers | undefined,
): ChannelLayers => {
  const takers = configs.flatMap((config) => takersOf(config, released));
  const type = released?.clusterTypes.get(channel.clusterType) ?? { name: channel.clusterType, labels: {} };
  return {
    channel,
    released,
    configs,
    takers,
    compose: createSiteComposer(released?.layers ?? [], type, takers),
  };
};

/** The layers and declared sites of a platform as a release would name them, but with the places of the files that were read. */
export const layersOfPlatform = (platform: Platform): ReleasedLayers => {
  const byName = <T extends { readonly name: string }>(all: readonly T[]): ReadonlyMap<string, T> =>
    new Map(all.map((one) => [one.name, one]));
  return {
    environment: platform.environment,
    layers: platform.siteLayers ?? [],
    sites: byName(platform.declaredSites ?? []),
    clusterTypes: byName(platform.clusterTypes),
    targets: byName(platform.targets),
    unread: (platform.unreadLayers ?? []).map(({ registration, siteSelector, errors }) => ({
      registration,
      siteSelector,
      why: errors.map(({ code, message }) => `${code}: ${message}`).join('; '),
    })),
  };
};
