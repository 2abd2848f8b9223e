import { type Digest, hexOf } from '#bundles/digest';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { type BlobRef, CHUNKS_FOLDER, type Chunked } from '#bundles/formats/medium/medium';

/** A file on the medium that holds a blob or a piece of one. */
export type Part = BlobRef & { readonly path: string };

/** 'fleet/chunks/<first 32 hex>.<nnn>', a name that FAT32 keeps unchanged. */
export const chunkPath = (digest: Digest, index: number): string =>
  `${CHUNKS_FOLDER}/${hexOf(digest).slice(0, 32)}.${String(index).padStart(3, '0')}`;

/** The files of a blob: one of its own, or its pieces in order. */
export const partsOf = (blob: BlobRef, chunks: ReadonlyMap<Digest, Chunked>): readonly Part[] =>
  chunks.get(blob.digest)?.files ?? [{ ...blob, path: blobPath(blob.digest) }];
