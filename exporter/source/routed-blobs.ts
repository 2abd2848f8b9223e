import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { askFor, missingBlob } from '#bundles/formats/layout/verified';
import type { Source } from './source.ts';

/** Reads each blob from the repository that is known to have it, and no other blob. */
export const routedBlobs = (source: Source, repositories: ReadonlyMap<Digest, string>): BlobSource => ({
  name: source.name,
  size: async (digest) => {
    const repository = repositories.get(digest);
    return repository === undefined ? undefined : source.blobs(repository).size(digest);
  },
  open: async (digest, signal) => {
    const repository = repositories.get(digest);
    if (repository === undefined) throw missingBlob(digest, source.name);
    return source.blobs(repository).open(digest, signal);
  },
  get: async (digest, wanted) => {
    const repository = repositories.get(digest);
    return repository === undefined ? undefined : askFor(source.blobs(repository), digest, wanted);
  },
});
