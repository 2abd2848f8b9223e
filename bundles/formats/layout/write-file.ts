import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDirectory } from './create-directory.ts';
import { renameSynced } from './rename-synced.ts';
import { writeAll, writeBehind } from './write-behind.ts';

/** Prefix of the names of temporary files. A killed process leaves them behind; they can be removed. */
export const TEMPORARY = '.tmp-';

/**
 * Replaces a file atomically: a power cut or a removed medium leaves the old or the new content. Writes a temporary file in the same
 * folder, syncs it, renames it and syncs the folder.
 */
export const writeFileAtomically = async (
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o644,
): Promise<void> => {
  const folder = dirname(path);
  await createDirectory(folder);
  const temporary = join(folder, `${TEMPORARY}${randomUUID().slice(0, 8)}`);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await (content instanceof Uint8Array
        ? file.writeFile(content)
        : writeBehind(content, (chunks) => writeAll(file, chunks)));
      await file.sync();
    } finally {
      await file.close();
    }
    await renameSynced(temporary, path);
  } catch (error) {
    // The first failure is the one that is reported.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
};
