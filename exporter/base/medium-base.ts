import { readBundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Medium, OpenMedium } from '#bundles/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { readClosure } from '../source/read-closure.ts';
import type { Source } from '../source/source.ts';
import type { Base } from './base.ts';

/**
 * An earlier medium as the base: what it carried and what it counted on. Nobody vouches for it; should the site lack a
 * blob after all, its import says so and asks for it.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH ... for a medium that is damaged
 */
export const readMediumBase = async (
  source: Source,
  { path, blobs }: OpenMedium,
  medium: Medium,
  signal?: AbortSignal,
): Promise<Base> => {
  const holds = new Map<Digest, ReadonlySet<Digest>>();
  const channels = new Map<string, Channel>();
  for (const { digest, environment, clusterType, assumed } of medium.bundles) {
    const channel = { environment, clusterType };
    channels.set(formatChannel(channel), channel);
    const better = source.blobs(channelRepository(channel));
    const from: BlobSource = (await better.size(digest)) === undefined ? blobs : better;
    const closure = await readClosure(from, await readBundle(from, digest, signal), signal);
    holds.set(
      digest,
      new Set([...closure.map((blob) => blob.digest), ...assumed.map((blob) => blob.digest)]),
    );
  }
  return { name: path, channels: [...channels.values()], holds, unknown: [] };
};
