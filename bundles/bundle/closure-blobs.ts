import type { BlobSource } from '../layout/blobs.ts';
import type { Descriptor } from './manifest.ts';
import { reachedBlobs } from './reached-blobs.ts';
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
  const reached = await reachedBlobs(source, bundle.config.closure, () => 'manifest', signal);
  const found = new Map(ownBlobs(bundle).map((blob) => [blob.digest, blob]));
  for (const [digest, blob] of reached) if (!found.has(digest)) found.set(digest, blob);
  return [...found.values()];
};
