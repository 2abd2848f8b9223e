import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource, FoundBlob, WantedBlob } from '#bundles/layout/blobs';
import { askFor, missingBlob, readFound } from '#bundles/layout/verified';
import { inMemory } from './in-memory.ts';

/** Statements, manifests and most configs; layers are streamed. */
const SMALL = 1 << 20;
/** In all. The oldest make room: what is read again is read again soon. */
const ROOM = 64 << 20;

/** Small blobs that were read over the network and verified, for the next who asks. */
export type SmallBlobs = {
  /** The same blobs, each small one fetched once, whichever repository it was in. */
  readonly over: (blobs: BlobSource) => BlobSource;
  /** Bytes that came otherwise and have this digest. */
  readonly keep: (digest: Digest, bytes: Buffer) => void;
};

export const keepSmallBlobs = (): SmallBlobs => {
  const kept = new Map<Digest, Buffer>();
  /** Those that somebody is reading just now; undefined in the end: nothing to share. */
  const coming = new Map<Digest, Promise<Buffer | undefined>>();
  let room = ROOM;
  const keep = (digest: Digest, bytes: Buffer): void => {
    if (kept.has(digest) || bytes.byteLength > SMALL) return;
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
    const asked: BlobSource = { name: blobs.name, size, open: blobs.open, get: blobs.get };

    const fetch = async (digest: Digest, wanted: WantedBlob): Promise<Buffer | FoundBlob | undefined> => {
      const found = await askFor(asked, digest, wanted);
      if (!found) return undefined;
      const { size: announced } = found;
      if (announced === undefined) return found;
      // It was there: also of one that is not kept, or not for long, nobody has to ask that again.
      sizes.set(digest, Promise.resolve(announced));
      if (announced > Math.min(SMALL, wanted.maxBytes)) return found;
      const bytes = await readFound(found, blobs.name, digest, wanted);
      keep(digest, bytes);
      return bytes;
    };
    const get = async (digest: Digest, wanted: WantedBlob): Promise<FoundBlob | undefined> => {
      for (let other = coming.get(digest); other; other = coming.get(digest)) {
        const bytes = await other.catch((error: unknown) => {
          // What it met on the way I would meet, too; what it gave up, or found wrong where it looked, I may find.
          if (isFleetError(error) && error.retryable && error.code !== 'ABORTED') throw error;
          return undefined;
        });
        wanted.signal?.throwIfAborted();
        if (bytes) return inMemory(bytes);
      }
      const bytes = kept.get(digest);
      if (bytes) return inMemory(bytes);
      const mine = fetch(digest, wanted).finally(() => coming.delete(digest));
      const shared = mine.then((found) => (Buffer.isBuffer(found) ? found : undefined));
      shared.catch(() => {});
      coming.set(digest, shared);
      const found = await mine;
      return Buffer.isBuffer(found) ? inMemory(found) : found;
    };
    return {
      name: blobs.name,
      size,
      open: async (digest, signal, buffers) => {
        const announced = await size(digest);
        if (announced === undefined || announced > SMALL) return blobs.open(digest, signal, buffers);
        const found = await get(digest, { maxBytes: SMALL, signal });
        if (!found) throw missingBlob(digest, blobs.name);
        return found.open();
      },
      get,
    };
  };
  return { over, keep };
};
