import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';

/** A blob source that records the digests that were read: the input of the judgement. */
export const openedBlobs = (blobs: BlobSource): BlobSource & { readonly opened: ReadonlySet<Digest> } => {
  const opened = new Set<Digest>();
  return {
    ...blobs,
    get: undefined,
    opened,
    open: (digest, signal) => {
      opened.add(digest);
      return blobs.open(digest, signal);
    },
  };
};
