import { createHash } from 'node:crypto';
import type { Digest } from '#bundles/digest';
import { verified } from '#bundles/formats/layout/verified';
import type { Chunked } from '#bundles/formats/medium/medium';
import type { PlannedBlob } from '../plan.ts';
import type { Source } from '../../source/source.ts';
import { chunkPath, type Part } from '../medium/part.ts';
import type { WorkOptions } from '../work-options.ts';

/**
 * Cuts blobs larger than the part size. fleet/medium.json, the beginning of a tar, names the digests of the pieces, so these blobs are
 * read once before anything is written.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB
 */
export const splitBlobs = async (
  source: Source,
  blobs: readonly PlannedBlob[],
  partSize: number,
  { signal, onPhase, onBytes }: WorkOptions,
): Promise<ReadonlyMap<Digest, Chunked>> => {
  const chunks = new Map<Digest, Chunked>();
  const large = blobs.filter(({ size }) => size > partSize);
  if (large.length > 0)
    onPhase?.({ name: 'reading large blobs', total: large.reduce((total, { size }) => total + size, 0) });
  for (const { digest, size, repository } of large) {
    const stream = verified(digest, size, source.stream(repository, digest, signal), source.name);
    chunks.set(digest, { digest, size, files: await hashPieces(digest, size, stream, partSize, onBytes) });
  }
  return chunks;
};

const hashPieces = async (
  digest: Digest,
  size: number,
  stream: AsyncIterable<Uint8Array>,
  partSize: number,
  onBytes: (bytes: number) => void,
): Promise<readonly Part[]> => {
  const files: Part[] = [];
  let hash = createHash('sha256');
  let filled = 0;
  const finish = (): void => {
    const path = chunkPath(digest, files.length);
    files.push({ path, size: filled, digest: `sha256:${hash.digest('hex')}` });
    hash = createHash('sha256');
    filled = 0;
  };
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.byteLength; ) {
      const piece = chunk.subarray(at, at + partSize - filled);
      hash.update(piece);
      filled += piece.byteLength;
      at += piece.byteLength;
      if (filled === partSize) finish();
    }
    onBytes(chunk.byteLength);
  }
  if (filled > 0 || size === 0) finish();
  return files;
};
