import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { findManifest } from '#bundles/formats/layout/read-manifest';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { readClosure } from '#bundles/formats/bundle/read-closure';
import type { Source } from '../source.ts';

/**
 * Reads all blobs of some bundles that the source still has in one of the channels.
 * @returns `holds`: blobs by bundle; `unknown`: bundles that the source no longer has
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
