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
import { type Bundle, ownBlobs } from './read-bundle.ts';

/**
 * The signed closure of a bundle, blob by blob and each once: its own blobs, then every image and file of `closure[]`
 * with all that an image's manifest reaches, manifests before what they name. A manifest that `source` lacks is listed
 * without its children: whoever assumes it elsewhere assumes them too.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID ...
 */
export const closureBlobs = async (
  source: BlobSource,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<readonly Descriptor[]> => {
  const found = new Map<Digest, Descriptor>();
  for (const blob of ownBlobs(bundle)) found.set(blob.digest, blob);
  const waiting: Descriptor[] = bundle.config.closure.map(({ digest, size, mediaType }) => ({
    digest,
    size,
    mediaType,
  }));
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (found.has(next.digest)) continue;
    found.set(next.digest, next);
    if (!isManifestType(next.mediaType) || (await source.size(next.digest)) === undefined) continue;
    waiting.unshift(
      ...childrenOf(parseManifest(await readBlob(source, next.digest, MAX_MANIFEST_BYTES, signal))),
    );
  }
  return [...found.values()];
};
