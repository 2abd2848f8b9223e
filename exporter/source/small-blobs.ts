import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource, FoundBlob, WantedBlob } from '#bundles/formats/layout/blobs';
import { askFor, missingBlob, readFound } from '#bundles/formats/layout/verified';
import { inMemory } from './in-memory.ts';

/** Statements, manifests and most configs; layers are streamed. */
const SMALL = 1 << 20;
/** Size of the cache in bytes. It drops the oldest entries: repeated reads follow each other closely. */
const ROOM = 64 << 20;

/** Cache of small verified blobs of a registry. */
export type SmallBlobs = {
  /** Adds the cache to a source; it is shared by all repositories. */
  readonly over: (blobs: BlobSource) => BlobSource;
  /** Adds bytes with this digest to the cache. */
  readonly keep: (digest: Digest, bytes: Buffer) => void;
};

export const keepSmallBlobs = (): SmallBlobs => {
  const kept = new Map<Digest, Buffer>();
  /** Reads in progress; they resolve to undefined when the blob cannot be shared. */
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
      // A failed request may be repeated.
      known.catch(() => sizes.delete(digest));
      return known;
    };
    const asked: BlobSource = { name: blobs.name, size, open: blobs.open, get: blobs.get };

    const fetch = async (digest: Digest, wanted: WantedBlob): Promise<Buffer | FoundBlob | undefined> => {
      const found = await askFor(asked, digest, wanted);
      if (!found) return undefined;
      const { size: announced } = found;
      if (announced === undefined) return found;
      // Remembers the size, also of a blob that is not cached.
      sizes.set(digest, Promise.resolve(announced));
      if (announced > Math.min(SMALL, wanted.maxBytes)) return found;
      const bytes = await readFound(found, blobs.name, digest, wanted);
      keep(digest, bytes);
      return bytes;
    };
    const get = async (digest: Digest, wanted: WantedBlob): Promise<FoundBlob | undefined> => {
      for (let other = coming.get(digest); other; other = coming.get(digest)) {
        const bytes = await other.catch((error: unknown) => {
          // A network error would repeat here. After an abort, or an error of the other repository, this read may succeed.
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
      open: async (digest, signal) => {
        const announced = await size(digest);
        if (announced === undefined || announced > SMALL) return blobs.open(digest, signal);
        const found = await get(digest, { maxBytes: SMALL, signal });
        if (!found) throw missingBlob(digest, blobs.name);
        return found.open();
      },
      get,
    };
  };
  return { over, keep };
};
