import type { Digest } from '../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Descriptor } from './manifest.ts';
import { type ManifestTree, readManifestTree } from './manifest-tree.ts';
import { reachedIn } from './reached-blobs.ts';
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
): Promise<readonly Descriptor[]> => (await closureTree(source, bundle, signal)).blobs;

/** The same, and what each manifest of an image names. @throws as closureBlobs */
export const closureTree = async (
  source: BlobSource,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<{ readonly blobs: readonly Descriptor[]; readonly tree: ManifestTree }> => {
  const { closure } = bundle.config;
  const tree = await readManifestTree(source, closure, () => 'manifest', signal);
  const found = new Map<Digest, Descriptor>(ownBlobs(bundle).map((blob) => [blob.digest, blob]));
  for (const [digest, blob] of reachedIn(tree, closure)) if (!found.has(digest)) found.set(digest, blob);
  return { blobs: [...found.values()], tree };
};
