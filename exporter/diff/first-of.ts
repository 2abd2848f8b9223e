import type { BlobSource } from '#bundles/layout/blobs';
import { missingBlob } from '#bundles/layout/verified';

/** A blob from the first place that has it: what a delta leaves out may be on the medium that it is compared with. */
export const firstOf = (places: readonly BlobSource[]): BlobSource => {
  const name = places.map((place) => place.name).join(', ');
  return {
    name,
    size: async (digest) => {
      for (const place of places) {
        const size = await place.size(digest);
        if (size !== undefined) return size;
      }
      return undefined;
    },
    open: async (digest, signal, buffers) => {
      for (const place of places)
        if ((await place.size(digest)) !== undefined) return place.open(digest, signal, buffers);
      throw missingBlob(digest, name);
    },
  };
};
