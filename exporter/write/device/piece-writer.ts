import type { FileHandle } from 'node:fs/promises';
import { tookSome } from '#bundles/layout/write-behind';
import { isRefusal } from './open-direct.ts';
import { PAGE } from './page-memory.ts';

/** Two ways into one file. */
export type Ways = {
  readonly file: Pick<FileHandle, 'write'>;
  /** Past the page cache, where there is such a way. */
  readonly direct: Pick<FileHandle, 'write'> | undefined;
};

/**
 * Writes pieces one behind the other, from `from` on. Whole pages go to the device at once, which saves a copy of them and the wait
 * at the end; what is no whole page goes by way of memory.
 */
export const pieceWriter = ({ file, direct }: Ways, from: number): ((piece: Uint8Array) => Promise<void>) => {
  let offset = from;
  let way = direct;
  return async (piece) => {
    const at = offset;
    offset += piece.byteLength;
    const pages = at % PAGE === 0 ? piece.byteLength - (piece.byteLength % PAGE) : 0;
    let done = 0;
    while (way && done < pages) {
      try {
        done += tookSome(await way.write(piece, done, pages - done, at + done));
      } catch (error) {
        // It took a part of a page before, or takes none at all.
        if (!isRefusal(error)) throw error;
        way = undefined;
      }
    }
    while (done < piece.byteLength)
      done += tookSome(await file.write(piece, done, piece.byteLength - done, at + done));
  };
};
