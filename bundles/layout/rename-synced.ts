import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/**
 * Gives a file that is on the device its final name, so that the name lasts and names all of it. On FAT a new name says that the file
 * is empty until the file is written once more (Linux, fs/fat/namei_vfat.c), so it is synced again under that name; and before its
 * folder is, the old name may be there as well, for whoever finds the same bytes under two.
 */
export const renameSynced = async (from: string, to: string): Promise<void> => {
  await rename(from, to);
  const file = await open(to, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await syncDirectory(dirname(to));
};
