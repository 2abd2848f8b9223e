import type { Digest } from '../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { ReadOptions } from '../layout/read-span.ts';
import type { Chunked } from './medium.ts';

/** A file of the medium by its path, size known. */
export type OpenFile = (path: string, options?: ReadOptions) => Promise<AsyncIterable<Uint8Array>>;

/** Lets blobs that lie in pieces read like any other. Whoever keeps the result still checks digest and size. */
export const chunkedBlobs = (
  whole: BlobSource,
  chunks: readonly Chunked[],
  openFile: OpenFile,
): BlobSource => {
  const byDigest = new Map<Digest, Chunked>(chunks.map((chunk) => [chunk.digest, chunk]));
  return {
    name: whole.name,
    size: async (digest) => byDigest.get(digest)?.size ?? (await whole.size(digest)),
    open: async (digest, signal, buffers) => {
      const chunk = byDigest.get(digest);
      return chunk ? concatenated(chunk, openFile, { signal, buffers }) : whole.open(digest, signal, buffers);
    },
  };
};

async function* concatenated(
  chunk: Chunked,
  openFile: OpenFile,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  for (const { path } of chunk.files) yield* await openFile(path, options);
}
