import type { Digest } from '../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { readBlob } from '../layout/verified.ts';
import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from './manifest.ts';

/**
 * These and all that manifests among them reach, each once, manifests before what they name: indexes in indexes,
 * attestations and what other tools hang in as well. A manifest that `source` lacks is listed without what it names.
 * @param what names a manifest in messages
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE
 */
export const reachedBlobs = async (
  source: BlobSource,
  from: readonly Pick<Descriptor, 'digest' | 'size' | 'mediaType'>[],
  what: (digest: Digest) => string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<Digest, Descriptor>> => {
  const seen = new Set<Digest>();
  const leavesFirst: Descriptor[] = [];
  const visit = async ({ digest, size, mediaType }: Descriptor): Promise<void> => {
    if (seen.has(digest)) return;
    seen.add(digest);
    if (isManifestType(mediaType) && (await source.size(digest)) !== undefined) {
      const bytes = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
      for (const child of childrenOf(parseManifest(bytes, what(digest))).toReversed()) await visit(child);
    }
    leavesFirst.push({ digest, size, mediaType });
  };
  for (const one of from.toReversed()) await visit(one);
  // The other way round nothing stands before any who names it, also where several do.
  return new Map(leavesFirst.toReversed().map((one) => [one.digest, one]));
};
