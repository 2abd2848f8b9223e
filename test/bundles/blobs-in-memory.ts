import { type Digest, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';

/** Blobs in memory. `put` answers with the digest; an entry set by hand lies about its content. */
export type MemoryBlobs = BlobSource & {
  readonly content: Map<Digest, Uint8Array>;
  readonly put: (bytes: Uint8Array | string) => Digest;
};

export const blobsInMemory = (): MemoryBlobs => {
  const name = 'memory';
  const content = new Map<Digest, Uint8Array>();
  return {
    name,
    content,
    put: (bytes) => {
      const digest = digestOf(bytes);
      content.set(digest, Buffer.from(bytes as string));
      return digest;
    },
    size: async (digest) => content.get(digest)?.byteLength,
    open: async (digest) => {
      const bytes = content.get(digest);
      if (!bytes) throw missingBlob(digest, name);
      return inPieces(bytes);
    },
  };
};

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 1000) yield bytes.subarray(at, at + 1000);
}
