import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { chunkedBlobs } from '#bundles/medium/chunked-blobs';
import type { MediumParts, OpenMedium } from '#bundles/medium/medium';
import { firstOf } from './first-of.ts';

/**
 * The blobs of a set of parts: those on the sticks that are here, and those that earlier sticks left in the store. A blob that
 * was cut is there when all its pieces are, wherever each of them lies.
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
    if (digest) return store.open(digest, options.signal, options.buffers);
    throw new FleetError('INTERNAL', `${path} is no piece of a blob`);
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
    open: async (digest, signal, buffers) => {
      const source = (await whole.size(digest)) === undefined && cut.has(digest) ? joined : whole;
      return source.open(digest, signal, buffers);
    },
  };
};
