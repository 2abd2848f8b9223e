import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { Channel } from '#bundles/names';
import type { ReleasedLayers } from '../../../load/releases/site-layers-document.ts';
import type { Platform } from '../../../model/model.ts';
import { type ChannelComposer, createChannelComposer } from '../../compose/channel-composer.ts';

/** The layers of a channel, and the site values that its packages take. */
export type ChannelLayers = ChannelComposer & {
  readonly channel: Channel;
  /** undefined: there are no layers, nor declared sites. */
  readonly released: ReleasedLayers | undefined;
  readonly configs: readonly BundleConfig[];
};

export const channelLayers = (
  channel: Channel,
  configs: readonly BundleConfig[],
  released: ReleasedLayers | undefined,
): ChannelLayers => ({
  channel,
  released,
  configs,
  ...createChannelComposer(channel.clusterType, configs, released),
});

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
