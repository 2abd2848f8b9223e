import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectory } from './make-directory.ts';
import { renameSynced } from './rename-synced.ts';
import { writeBehind, writeWhole } from './write-behind.ts';

/** How the names begin of files that are being written; what a killed process leaves of them is rubbish. */
export const TEMPORARY = '.tmp-';

/**
 * Writes a file so that a pulled plug or stick leaves the old one or the new one: temporary neighbour, fsync, rename,
 * fsync of the folder. The temporary name is kept short and in the same folder, so the rename never crosses a disk.
 */
export const writeFileAtomically = async (
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o644,
): Promise<void> => {
  const folder = dirname(path);
  await makeDirectory(folder);
  const temporary = join(folder, `${TEMPORARY}${randomUUID().slice(0, 8)}`);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await (content instanceof Uint8Array
        ? file.writeFile(content)
        : writeBehind(content, (piece) => writeWhole(file, piece)));
      await file.sync();
    } finally {
      await file.close();
    }
    await renameSynced(temporary, path);
  } catch (error) {
    // What went wrong first is what is told.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
};
