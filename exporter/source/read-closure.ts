import { closureTree } from '#bundles/formats/bundle/closure-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';

/** A blob of a closure; for an available image manifest with its children. */
export type ClosureBlob = Pick<Descriptor, 'digest' | 'size' | 'mediaType'> & {
  readonly children: readonly Digest[];
};

/** The closure with its edges: a layer is sent together with the manifests that lead to it. @throws FleetError of closureBlobs */
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
