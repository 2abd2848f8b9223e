import { closureBlobs } from '#bundles/bundle/closure-blobs';
import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/bundle/manifest';
import type { Bundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';

/** A blob of a closure and, for an image's manifest that is here, what it names. */
export type ClosureBlob = Pick<Descriptor, 'digest' | 'size' | 'mediaType'> & {
  readonly children: readonly Digest[];
};

/** The closure with its edges: who sends a layer again sends the manifests that lead to it. @throws as closureBlobs */
export const readClosure = async (
  blobs: BlobSource,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<readonly ClosureBlob[]> => {
  const found: ClosureBlob[] = [];
  for (const { digest, size, mediaType } of await closureBlobs(blobs, bundle, signal)) {
    const children =
      digest !== bundle.digest && isManifestType(mediaType) ? await childrenIn(blobs, digest, signal) : [];
    found.push({ digest, size, mediaType, children });
  }
  return found;
};

const childrenIn = async (blobs: BlobSource, digest: Digest, signal?: AbortSignal): Promise<Digest[]> => {
  if ((await blobs.size(digest)) === undefined) return [];
  const manifest = parseManifest(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal));
  return childrenOf(manifest).map((child) => child.digest);
};
