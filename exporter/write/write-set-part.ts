import { createHash } from 'node:crypto';
import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import type { Digest } from '#bundles/digest';
import { verified } from '#bundles/formats/layout/verified';
import type { CutPart } from '../plan/set/cut-set.ts';
import type { Plan } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';
import { writeSynced } from './device/write-synced.ts';
import { blobPath } from '#bundles/formats/medium/blob-path';
import type { PieceReader } from './piece-reader.ts';
import type { SetLayout } from '../plan/set/set-layout.ts';
import type { WriteOptions } from './write-options.ts';

export type WrittenPart = {
  readonly number: number;
  readonly stick: number;
  readonly path: string;
  readonly size: number;
};

/** Input of every part. */
export type SetContent = {
  readonly plan: Plan;
  readonly source: Source;
  readonly layout: SetLayout;
  readonly pieces: PieceReader;
};

/**
 * Writes one part to the device, verifies every blob by its digest, and returns the digest of the whole file.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH; errors of the file system
 */
export const writeSetPart = async (
  content: SetContent,
  part: CutPart,
  path: string,
  { seal, onBytes, signal }: WriteOptions,
): Promise<{ readonly size: number; readonly digest: Digest }> => {
  const hash = createHash('sha256');
  let size = 0;
  const plain = writeTar(entriesOf(content, part, signal));
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of seal ? seal.seal(plain) : plain) {
      signal?.throwIfAborted();
      hash.update(chunk);
      size += chunk.byteLength;
      yield chunk;
      onBytes(chunk.byteLength);
    }
  };
  await writeSynced(path, counted());
  return { size, digest: `sha256:${hash.digest('hex')}` };
};

async function* entriesOf(
  { plan, source, layout, pieces }: SetContent,
  part: CutPart,
  signal: AbortSignal | undefined,
): AsyncGenerator<TarEntry> {
  for (const { path, bytes } of layout.headOf(part)) yield { path, size: bytes.byteLength, content: bytes };
  for (const { digest, size, repository } of plan.blobs.filter(({ shared }) => shared)) {
    const content = verified(digest, size, source.stream(repository, digest, signal), source.name);
    yield { path: blobPath(digest), size, content };
  }
  for (const file of part.files) {
    const { path, size, blob } = file;
    yield { path, size, content: pieces.read(file, layout.pieces.get(path) ?? blob.digest) };
  }
}
