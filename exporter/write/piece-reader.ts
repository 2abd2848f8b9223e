import { type ByteCursor, byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { Digest } from '#bundles/digest';
import { verified } from '#bundles/formats/layout/verified';
import type { CutFile } from '../plan/set/cut-set.ts';
import type { PlannedBlob } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';

/** Reads blobs and pieces of blobs one at a time, and verifies the digest of each. */
export type PieceReader = AsyncDisposable & {
  /** @param digest of the piece. The stream rejects with FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH */
  readonly read: (file: CutFile, digest: Digest) => AsyncIterable<Uint8Array>;
};

/**
 * A source reads a blob only from its beginning. The pieces of a large blob are in consecutive parts, so an open blob stays open for its
 * next piece, and is read again only for an earlier piece.
 */
export const openPieces = (source: Source, signal?: AbortSignal): PieceReader => {
  let begun: { readonly blob: PlannedBlob; readonly cursor: ByteCursor } | undefined;

  const close = async (): Promise<void> => {
    const last = begun;
    begun = undefined;
    await last?.cursor.close();
  };

  const cursorAt = async ({ blob, offset }: CutFile): Promise<ByteCursor> => {
    if (begun?.blob.digest !== blob.digest || begun.cursor.position() > offset) {
      await close();
      begun = { blob, cursor: byteCursor(source.stream(blob.repository, blob.digest, signal)) };
    }
    await begun.cursor.skip(offset - begun.cursor.position());
    return begun.cursor;
  };

  async function* bytesOf(file: CutFile): AsyncGenerator<Uint8Array> {
    const { blob, size } = file;
    if (size === blob.size) {
      yield* source.stream(blob.repository, blob.digest, signal);
      return;
    }
    const cursor = await cursorAt(file);
    for (let left = size; left > 0; ) {
      const chunk = await cursor.some(left);
      if (chunk.byteLength === 0) return;
      left -= chunk.byteLength;
      yield chunk;
    }
  }

  return {
    read: (file, digest) => verified(digest, file.size, bytesOf(file), source.name),
    [Symbol.asyncDispose]: close,
  };
};
