import type { FileHandle } from 'node:fs/promises';

/** Writes pieces to an empty file and returns its size. Pieces of zeros alone become holes: a sparse file's copy takes no more room than the file. */
export const writeSparse = async (file: FileHandle, pieces: AsyncIterable<Buffer>): Promise<number> => {
  let size = 0;
  for await (const piece of pieces) {
    if (!isZeros(piece)) await writeAt(file, piece, size);
    size += piece.length;
  }
  await file.truncate(size);
  return size;
};

const writeAt = async (file: FileHandle, piece: Buffer, position: number): Promise<void> => {
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await file.write(piece, done, piece.length - done, position + done);
    done += bytesWritten;
  }
};

/** Each byte is the first one, and that is zero. */
const isZeros = (piece: Buffer): boolean =>
  piece[0] === 0 && piece.subarray(1).equals(piece.subarray(0, piece.length - 1));
