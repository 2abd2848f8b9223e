import type { Digest } from '../../digest.ts';
import { inParallel } from '../../in-parallel.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { findManifest } from '../layout/read-manifest.ts';
import { childrenOf, type Descriptor, isManifestType, parseManifest } from '../layout/manifest.ts';

/** Children of each manifest that the source has. */
export type ManifestTree = ReadonlyMap<Digest, readonly Descriptor[]>;

type Named = Pick<Descriptor, 'digest' | 'mediaType'>;

/** Concurrent reads: manifests are small, and each may take a round trip. */
const WIDTH = 8;

/**
 * Reads the manifests among `from` and all manifests that they reach, level by level.
 * @param what name of a manifest for messages
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE
 */
export const readManifestTree = async (
  source: BlobSource,
  from: readonly Named[],
  what: (digest: Digest) => string,
  signal?: AbortSignal,
): Promise<ManifestTree> => {
  const found = new Map<Digest, readonly Descriptor[]>();
  const seen = new Set<Digest>();
  const unread = (named: readonly Named[]): readonly Digest[] =>
    named.flatMap(({ digest, mediaType }) => {
      if (!isManifestType(mediaType) || seen.has(digest)) return [];
      seen.add(digest);
      return [digest];
    });
  const read = async (digest: Digest, stop: AbortSignal): Promise<readonly Descriptor[]> => {
    const bytes = await findManifest(source, digest, stop);
    if (!bytes) return [];
    const children = childrenOf(parseManifest(bytes, what(digest)));
    found.set(digest, children);
    return children;
  };
  for (let level = unread(from); level.length > 0; )
    level = unread((await inParallel(level, WIDTH, read, signal)).flat());
  return found;
};
