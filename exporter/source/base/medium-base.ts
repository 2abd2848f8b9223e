import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { readClosure } from '#bundles/formats/bundle/read-closure';
import type { Source } from '../source.ts';
import type { Base } from '#bundles/formats/medium/choose-blobs';

/**
 * An earlier medium as one base for each of its channels: the blobs that it carried and those that it assumed. An agent
 * imports only the bundles of its channel. The base is unsigned; if a site lacks a blob, its import reports and requests it.
 * @throws FleetError of readBundle for a damaged medium, such as MISSING_BLOB, DIGEST_MISMATCH
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
