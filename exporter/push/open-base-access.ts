import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { Registry } from '#bundles/transport/registry/registry';

/** Reads blobs from the medium, or from the target registry, which has the blobs that a delta leaves out. */
export type BaseAccess = {
  readonly blobs: BlobSource;
  /** The repository of a blob that the medium lacks. */
  readonly placeOf: (digest: Digest) => string | undefined;
};

/** @param paths repositories that may have the base, in order of the requests; may grow */
export const openBaseAccess = (
  medium: BlobSource,
  registry: Pick<Registry, 'repository'>,
  paths: Iterable<string>,
): BaseAccess => {
  type Place = { readonly path: string; readonly size: number };
  const found = new Map<Digest, Place>();
  const locate = async (digest: Digest, signal?: AbortSignal): Promise<Place | undefined> => {
    const known = found.get(digest);
    if (known) return known;
    for (const path of paths) {
      signal?.throwIfAborted();
      const size = await registry.repository(path).blobs.size(digest);
      if (size === undefined) continue;
      found.set(digest, { path, size });
      return { path, size };
    }
    return undefined;
  };
  return {
    placeOf: (digest) => found.get(digest)?.path,
    blobs: {
      name: medium.name,
      size: async (digest) => (await medium.size(digest)) ?? (await locate(digest))?.size,
      open: async (digest, signal) => {
        if ((await medium.size(digest)) !== undefined) return medium.open(digest, signal);
        const place = await locate(digest, signal);
        if (!place) throw missingBlob(digest, medium.name);
        return registry.repository(place.path).blobs.open(digest, signal);
      },
    },
  };
};
