import { readBundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { findManifest } from '#bundles/layout/read-manifest';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { readClosure } from '../source/read-closure.ts';
import type { Source } from '../source/source.ts';

/**
 * All blobs of some bundles, as far as the source still has them in one of the channels.
 * @returns and which bundles it has no more
 */
export const blobsOf = async (
  source: Source,
  bundles: Iterable<Digest>,
  channels: readonly Channel[],
  signal?: AbortSignal,
): Promise<{
  readonly holds: ReadonlyMap<Digest, ReadonlySet<Digest>>;
  readonly unknown: readonly Digest[];
}> => {
  const holds = new Map<Digest, ReadonlySet<Digest>>();
  const unknown: Digest[] = [];
  for (const digest of bundles) {
    const found = await blobsOfOne(source, digest, channels, signal);
    if (found) holds.set(digest, found);
    else unknown.push(digest);
  }
  return { holds, unknown };
};

const blobsOfOne = async (
  source: Source,
  digest: Digest,
  channels: readonly Channel[],
  signal?: AbortSignal,
): Promise<ReadonlySet<Digest> | undefined> => {
  for (const channel of channels) {
    const blobs = source.blobs(channelRepository(channel));
    if (!(await findManifest(blobs, digest, signal))) continue;
    const closure = await readClosure(blobs, await readBundle(blobs, digest, signal), signal);
    return new Set(closure.map((blob) => blob.digest));
  }
  return undefined;
};
