import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';

/** Statements, manifests and most configs; layers are streamed. */
const SMALL = 1 << 20;
/** In all. The oldest make room: what is read again is read again soon. */
const ROOM = 64 << 20;

/** Small blobs that were read over the network and verified, for the next who asks. */
export type SmallBlobs = {
  /** The same blobs, each small one fetched once, whichever repository it was in. */
  readonly over: (blobs: BlobSource) => BlobSource;
};

export const keepSmallBlobs = (): SmallBlobs => {
  const kept = new Map<Digest, Buffer>();
  let room = ROOM;
  const keep = (digest: Digest, bytes: Buffer): void => {
    if (kept.has(digest)) return;
    kept.set(digest, bytes);
    room -= bytes.byteLength;
    for (const [oldest, { byteLength }] of kept) {
      if (room >= 0) break;
      kept.delete(oldest);
      room += byteLength;
    }
  };
  const over = (blobs: BlobSource): BlobSource => {
    const sizes = new Map<Digest, Promise<number | undefined>>();
    const size = (digest: Digest): Promise<number | undefined> => {
      const bytes = kept.get(digest);
      if (bytes) return Promise.resolve(bytes.byteLength);
      const known = sizes.get(digest) ?? blobs.size(digest);
      sizes.set(digest, known);
      // What could not be asked may be asked again.
      known.catch(() => sizes.delete(digest));
      return known;
    };
    const asked: BlobSource = { name: blobs.name, size, open: blobs.open };
    return {
      name: blobs.name,
      size,
      open: async (digest, signal) => {
        const bytes = kept.get(digest);
        if (bytes) return one(bytes);
        const announced = await size(digest);
        if (announced === undefined || announced > SMALL) return blobs.open(digest, signal);
        const read = await readBlob(asked, digest, SMALL, signal);
        keep(digest, read);
        return one(read);
      },
    };
  };
  return { over };
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
