import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { readBundle } from './read-bundle.ts';

/** Names of all packages of some bundles, to compare two releases. @throws FleetError of readBundle */
export const packageNames = async (
  blobs: BlobSource,
  bundles: Iterable<Digest>,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const names = new Set<string>();
  for (const digest of bundles) {
    const { config } = await readBundle(blobs, digest, signal);
    for (const { id } of config.assignments) names.add(id);
  }
  return names;
};
