import type { Digest } from '../../digest.ts';
import type { BlobSource } from './blobs.ts';

/** Adds a few small blobs in memory to a source. */
export const withBytes = (source: BlobSource, extra: ReadonlyMap<Digest, Buffer>): BlobSource => ({
  name: source.name,
  size: async (digest) => extra.get(digest)?.byteLength ?? (await source.size(digest)),
  open: async (digest, signal) => {
    const bytes = extra.get(digest);
    return bytes ? only(bytes) : source.open(digest, signal);
  },
});

async function* only(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
