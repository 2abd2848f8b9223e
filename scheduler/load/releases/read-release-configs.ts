import type { BundleConfig } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Layout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readOnce } from './read-once.ts';
import { bundlesOf, readRelease, type StoredRelease } from './read-release.ts';

/** The newest release of a channel, and the configurations of its bundles in the order of its names. */
export type ReleaseConfigs = {
  readonly release: StoredRelease;
  readonly configs: readonly BundleConfig[];
};

/** Reads the newest release of a channel with its bundles, once while the layout names it. @throws FleetError the codes of readRelease; of readBundle */
export const readReleaseConfigs = (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<ReleaseConfigs | undefined> =>
  readOnce({ layout, roots, repository: channelRepository(channel), what: 'configs' }, async () => {
    const release = await readRelease(layout, channel, roots);
    if (!release) return undefined;
    const configs: BundleConfig[] = [];
    for (const digest of bundlesOf(release)) configs.push((await readBundle(layout.blobs, digest)).config);
    return { release, configs };
  });
