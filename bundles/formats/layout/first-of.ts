import type { BlobSource } from './blobs.ts';
import { askFor, missingBlob } from './verified.ts';

/** Reads blobs from `one`, and those that it lacks from `other`. @param one the source that messages name */
export const firstOf = (one: BlobSource, other: BlobSource): BlobSource => ({
  name: one.name,
  size: async (digest) => (await one.size(digest)) ?? (await other.size(digest)),
  open: async (digest, signal) => {
    for (const source of [one, other])
      if ((await source.size(digest)) !== undefined) return source.open(digest, signal);
    throw missingBlob(digest, one.name);
  },
  get: async (digest, wanted) => (await askFor(one, digest, wanted)) ?? (await askFor(other, digest, wanted)),
});
