import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/** Takes a file off a stick, if it is there, so that it stays away: on FAT a name that is still there has the blocks that others get. */
export const removeSynced = async (path: string): Promise<void> => {
  try {
    await rm(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw error;
  }
  await syncDirectory(dirname(path));
};
