import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Descriptor } from '../layout/manifest.ts';
import { type ManifestTree, readManifestTree } from './manifest-tree.ts';
import { reachedIn } from './reached-blobs.ts';
import { type Bundle, ownBlobs } from './read-bundle.ts';

/**
 * Returns each blob of the signed closure of a bundle once: the bundle's own blobs, then every image and file of `closure[]`
 * with all blobs that its manifest reaches, manifests before their children. A manifest that `source` lacks is listed
 * without its children: a delta that assumes it assumes them too.
 * @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH, BAD_JSON, TOO_DEEP, LAYOUT_INVALID
 */
export const closureBlobs = async (
  source: BlobSource,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<readonly Descriptor[]> => (await closureTree(source, bundle, signal)).blobs;

/**
 * As closureBlobs, with the manifests that were read.
 * @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH, BAD_JSON, TOO_DEEP, LAYOUT_INVALID
 */
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
