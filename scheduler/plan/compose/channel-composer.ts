import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import { createSiteComposer, type SiteComposer, type Taker } from './compose-site.ts';
import { takersOf } from './takers-of.ts';

/** The composer of a channel, and the assignments whose values it composes. */
export type ChannelComposer = { readonly takers: readonly Taker[]; readonly compose: SiteComposer };

/**
 * Composes the values of the agents that follow a channel from what was released for it. The hub and a signer process call it with the
 * same documents and get the same values.
 * @param configs of the bundles of its release @param released undefined: their statements name no layers
 */
export const createChannelComposer = (
  clusterType: string,
  configs: readonly BundleConfig[],
  released: ReleasedLayers | undefined,
): ChannelComposer => {
  const takers = configs.flatMap((config) => takersOf(config, released));
  const type = released?.clusterTypes.get(clusterType) ?? { name: clusterType, labels: {} };
  return { takers, compose: createSiteComposer(released?.layers ?? [], type, takers) };
};
