import { closureTree } from '#bundles/bundle/closure-blobs';
import type { Descriptor } from '#bundles/bundle/manifest';
import type { Bundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';

/** A blob of a closure and, for an image's manifest that is here, what it names. */
export type ClosureBlob = Pick<Descriptor, 'digest' | 'size' | 'mediaType'> & {
  readonly children: readonly Digest[];
};

/** The closure with its edges: who sends a layer again sends the manifests that lead to it. @throws as closureBlobs */
export const readClosure = async (
  source: BlobSource,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<readonly ClosureBlob[]> => {
  const { blobs, tree } = await closureTree(source, bundle, signal);
  return blobs.map(({ digest, size, mediaType }) => {
    const children = digest === bundle.digest ? [] : (tree.get(digest) ?? []);
    return { digest, size, mediaType, children: children.map((child) => child.digest) };
  });
};
