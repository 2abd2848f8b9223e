import type { BlobSource } from '#bundles/layout/blobs';
import { askFor, missingBlob } from '#bundles/layout/verified';

/** One source, and where it lacks something another. @param one whose name messages say */
export const firstOf = (one: BlobSource, other: BlobSource): BlobSource => ({
  name: one.name,
  size: async (digest) => (await one.size(digest)) ?? (await other.size(digest)),
  open: async (digest, signal, buffers) => {
    for (const source of [one, other])
      if ((await source.size(digest)) !== undefined) return source.open(digest, signal, buffers);
    throw missingBlob(digest, one.name);
  },
  get: async (digest, wanted) => (await askFor(one, digest, wanted)) ?? (await askFor(other, digest, wanted)),
});
