import type { ClosureEntry } from '#bundles/bundle/config';
import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';

/** Is it an image, or a file that travels along? */
export const isImage = ({ mediaType, names }: ClosureEntry): boolean =>
  isManifestType(mediaType) && names !== undefined && names.length > 0;

/**
 * All blobs of an image, each once, manifests before what they name: indexes in indexes, attestations and what other tools
 * hang in as well. A manifest that `source` lacks is listed without what it names.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE
 */
export const imageBlobs = async (
  source: BlobSource,
  { digest, size, mediaType }: ClosureEntry,
  signal: AbortSignal,
): Promise<readonly Descriptor[]> => {
  const found = new Map<Digest, Descriptor>();
  const waiting: Descriptor[] = [{ digest, size, mediaType }];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (found.has(next.digest)) continue;
    found.set(next.digest, next);
    if (!isManifestType(next.mediaType) || (await source.size(next.digest)) === undefined) continue;
    const bytes = await readBlob(source, next.digest, MAX_MANIFEST_BYTES, signal);
    waiting.push(...childrenOf(parseManifest(bytes, `image ${next.digest}`)));
  }
  return [...found.values()];
};
