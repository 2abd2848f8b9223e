import type { Digest } from '../../../digest.ts';
import type { BlobSource } from '../../layout/blobs.ts';
import type { ReadOptions } from '../../layout/read-span.ts';
import type { Chunked } from '../medium.ts';

/** Opens a file of the medium by its path. */
export type OpenFile = (path: string, options?: ReadOptions) => Promise<AsyncIterable<Uint8Array>>;

/** Adds the blobs that are split into pieces to a source. The caller still checks digest and size. */
export const chunkedBlobs = (
  whole: BlobSource,
  chunks: readonly Chunked[],
  openFile: OpenFile,
): BlobSource => {
  const byDigest = new Map<Digest, Chunked>(chunks.map((chunk) => [chunk.digest, chunk]));
  return {
    name: whole.name,
    size: async (digest) => byDigest.get(digest)?.size ?? (await whole.size(digest)),
    open: async (digest, signal) => {
      const chunk = byDigest.get(digest);
      return chunk ? concatenated(chunk, openFile, { signal }) : whole.open(digest, signal);
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
