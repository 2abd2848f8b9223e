import { type ByteCursor, byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { Digest } from '#bundles/digest';
import { verified } from '#bundles/formats/layout/verified';
import type { CutFile } from '../plan/cut-set.ts';
import type { PlannedBlob } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';

/** Reads blobs and pieces of blobs, one after the other, each against its digest. */
export type PieceReader = AsyncDisposable & {
  /** @param digest of the piece @throws (while read) FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH */
  readonly read: (file: CutFile, digest: Digest) => AsyncIterable<Uint8Array>;
};

/**
 * A source gives a blob from its beginning only. The pieces of a large one lie in part after part, so what was begun is kept
 * open until its next piece is asked for, and read again only for one that lies further back.
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
