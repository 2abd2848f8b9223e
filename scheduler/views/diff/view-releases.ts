import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Layout } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { bundlesOf, readRelease } from '../../load/releases/read-release.ts';
import { unpackBundle } from '../../load/releases/unpack-bundle.ts';
import type { EnvironmentView, TypeView } from './view-environment.ts';

/**
 * Returns the packages of the newest release of each channel of an environment. Signatures are checked with the roots in the
 * layout.
 * @returns undefined if nothing was released yet
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, WRONG_CHANNEL, SCHEMA, MISSING_BLOB, DIGEST_MISMATCH
 */
export const viewReleases = async (
  layout: Layout,
  environment: string,
  signal: AbortSignal,
): Promise<EnvironmentView | undefined> => {
  const roots = await readFleetChain(layout);
  const clusterTypes = new Map<string, TypeView>();
  for (const channel of channelsIn(layout).map((name) => parseChannel(name))) {
    if (channel.environment !== environment) continue;
    const release = await readRelease(layout, channel, roots);
    const assignments = new Map<string, ReadonlyMap<string, Buffer>>();
    for (const digest of release ? bundlesOf(release) : []) {
      const bundle = await readBundle(layout.blobs, digest, signal);
      for (const [id, files] of await unpackBundle(layout.blobs, bundle, signal)) assignments.set(id, files);
    }
    clusterTypes.set(channel.clusterType, { assignments, held: new Map() });
  }
  return clusterTypes.size === 0 ? undefined : { files: new Map(), clusterTypes, isKept: () => false };
};
