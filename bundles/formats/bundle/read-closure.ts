import { closureTree } from './closure-blobs.ts';
import type { Descriptor } from '../layout/manifest.ts';
import type { Bundle } from './read-bundle.ts';
import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';

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
