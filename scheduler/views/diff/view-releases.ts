import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Layout } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { bundlesOf, readRelease } from '../../load/releases/read-release.ts';
import { unpackBundle } from '../../load/releases/unpack-bundle.ts';
import { type EnvironmentView, namespacesIn, type TypeView } from './view-environment.ts';

/**
 * Returns the packages of the newest release of each channel of an environment. Signatures are checked with the roots in the
 * layout.
 * @param known another state of the environment: packages of a bundle that it has, too, are taken from it
 * @returns undefined if nothing was released yet
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, WRONG_CHANNEL, SCHEMA, MISSING_BLOB, DIGEST_MISMATCH
 */
export const viewReleases = async (
  layout: Layout,
  environment: string,
  signal: AbortSignal,
  known?: EnvironmentView,
): Promise<EnvironmentView | undefined> => {
  const roots = await readFleetChain(layout);
  const clusterTypes = new Map<string, TypeView>();
  for (const channel of channelsIn(layout).map((name) => parseChannel(name))) {
    if (channel.environment !== environment) continue;
    const release = await readRelease(layout, channel, roots);
    const assignments = new Map<string, ReadonlyMap<string, Buffer>>();
    const namespaces = new Map<string, string>();
    const digests = release ? bundlesOf(release) : [];
    const same = known?.clusterTypes.get(channel.clusterType);
    if (digests.length === 1 && same?.bundle !== undefined && same.bundle === digests[0]) {
      clusterTypes.set(channel.clusterType, { ...same, held: new Map() });
      continue;
    }
    for (const digest of digests) {
      const bundle = await readBundle(layout.blobs, digest, signal);
      for (const [id, files] of await unpackBundle(layout.blobs, bundle, signal)) assignments.set(id, files);
      for (const [id, namespace] of namespacesIn(bundle.config)) namespaces.set(id, namespace);
    }
    clusterTypes.set(channel.clusterType, {
      readAssignments: () => assignments,
      namespaces,
      held: new Map(),
    });
  }
  return clusterTypes.size === 0 ? undefined : { files: new Map(), clusterTypes, isKept: () => false };
};
