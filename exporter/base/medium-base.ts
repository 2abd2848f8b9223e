import { readBundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Medium, OpenMedium } from '#bundles/medium/medium';
import { formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { readClosure } from '../source/read-closure.ts';
import type { Source } from '../source/source.ts';
import type { Base } from './base.ts';

/**
 * An earlier medium as the base of each channel it had: what it carried and what it counted on. Who imported it took the
 * bundles of one channel and no others. Nobody vouches for it; should a site lack a blob after all, its import says so and
 * asks for it.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH ... for a medium that is damaged
 */
export const readMediumBases = async (
  source: Source,
  { path, blobs }: OpenMedium,
  medium: Medium,
  signal?: AbortSignal,
): Promise<readonly Base[]> => {
  const bases: Base[] = [];
  for (const bundles of Map.groupBy(medium.bundles, formatChannel).values()) {
    const holds = new Map<Digest, ReadonlySet<Digest>>();
    const packages = new Set<string>();
    const [{ environment, clusterType }] = bundles as [(typeof bundles)[number]];
    const channel = { environment, clusterType };
    const better = source.blobs(channelRepository(channel));
    for (const { digest, assumed } of bundles) {
      const from: BlobSource = (await better.size(digest)) === undefined ? blobs : better;
      const bundle = await readBundle(from, digest, signal);
      const closure = await readClosure(from, bundle, signal);
      holds.set(digest, new Set([...closure, ...assumed].map((blob) => blob.digest)));
      for (const { id } of bundle.config.assignments) packages.add(id);
    }
    bases.push({ name: path, channel, holds, packages, unknown: [] });
  }
  return bases;
};
