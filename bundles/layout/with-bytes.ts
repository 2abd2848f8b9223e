import type { Digest } from '../digest.ts';
import type { BlobSource } from './blobs.ts';

/** A source that also has a few small blobs which lie in memory. */
export const withBytes = (source: BlobSource, extra: ReadonlyMap<Digest, Buffer>): BlobSource => ({
  name: source.name,
  size: async (digest) => extra.get(digest)?.byteLength ?? (await source.size(digest)),
  open: async (digest, signal, buffers) => {
    const bytes = extra.get(digest);
    return bytes ? only(bytes) : source.open(digest, signal, buffers);
  },
});

async function* only(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
