import type { Digest } from '#bundles/digest';
import type { BlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob, verifyAll } from '#bundles/formats/layout/verified';

/**
 * A store for the plan of an import, which writes nothing into the agent's own: a blob that is to be written from the medium is read
 * through, verified, and read there again when it is needed. Its readers verify it again, because a medium can change between two reads.
 * @param own the agent's store, only read @param medium the blobs of the offer
 * @param rebuilt a temporary directory, for blobs that the medium has as patches only; `patched` names them
 */
export const planningBlobs = (
  own: BlobDirectory,
  medium: BlobSource,
  rebuilt: BlobDirectory,
  patched: ReadonlySet<Digest>,
): BlobDirectory => {
  const read = new Set<Digest>();
  /** Damaged copies in the agent's store, which an import would replace. */
  const damaged = new Set<Digest>();
  const ownOrRebuilt = async (digest: Digest): Promise<BlobDirectory> =>
    !damaged.has(digest) && (await own.size(digest)) !== undefined ? own : rebuilt;
  const placeOf = async (digest: Digest): Promise<BlobSource> => {
    const place = await ownOrRebuilt(digest);
    return place === rebuilt && read.has(digest) ? medium : place;
  };
  return {
    name: own.name,
    path: (digest) => (damaged.has(digest) || patched.has(digest) ? rebuilt : own).path(digest),
    size: async (digest) => (await placeOf(digest)).size(digest),
    open: async (digest, signal) => {
      const place = await placeOf(digest);
      if ((await place.size(digest)) === undefined) throw missingBlob(digest, own.name);
      return place.open(digest, signal);
    },
    write: async (digest, size, content, signal) => {
      if (patched.has(digest) && (await medium.size(digest)) === undefined) {
        await rebuilt.write(digest, size, content, signal);
        return;
      }
      const chunks = content instanceof Uint8Array ? one(content) : content;
      await verifyAll({ digest, size }, chunks, own.name, signal);
      read.add(digest);
    },
    list: async () => [...new Set([...(await own.list()), ...(await rebuilt.list())])],
    remove: async (digest) => {
      damaged.add(digest);
      read.delete(digest);
      await rebuilt.remove(digest);
    },
  };
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
