import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { chunkedBlobs } from '#bundles/formats/medium/parts/chunked-blobs';
import type { MediumParts, OpenMedium } from '#bundles/formats/medium/medium';
import { firstOf } from '#bundles/formats/layout/first-of';

/**
 * The blobs of a set of parts: on the available volumes, or in the store from earlier volumes. A chunked blob is available
 * when each of its pieces is in one of these places.
 */
export const keptBlobs = (
  { medium, blobs }: OpenMedium,
  parts: MediumParts,
  store: BlobSource,
): BlobSource => {
  const whole = firstOf(blobs, store);
  const chunks = medium?.chunks ?? [];
  const cut = new Map(chunks.map((chunk) => [chunk.digest, chunk]));
  const digests = new Map(
    chunks.flatMap(({ files }) => files.map(({ path, digest }) => [path, digest] as const)),
  );
  const joined = chunkedBlobs(whole, chunks, async (path, options = {}) => {
    const piece = parts.piece(path, options);
    const digest = digests.get(path);
    if (piece) return piece;
    if (digest) return store.open(digest, options.signal);
    throw new FleetError('INTERNAL', `${path} is not a piece of a blob`);
  });
  return {
    name: blobs.name,
    size: async (digest) => {
      const found = await whole.size(digest);
      const chunk = cut.get(digest);
      if (found !== undefined || !chunk) return found;
      for (const piece of chunk.files) {
        if (!parts.piece(piece.path) && (await store.size(piece.digest)) === undefined) return undefined;
      }
      return chunk.size;
    },
    open: async (digest, signal) => {
      const source = (await whole.size(digest)) === undefined && cut.has(digest) ? joined : whole;
      return source.open(digest, signal);
    },
  };
};
