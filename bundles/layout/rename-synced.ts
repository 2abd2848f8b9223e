import { constants } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/**
 * Gives a file that is on the device its final name, so that the name lasts and names all of it.
 *
 * On FAT a new name says that the file is empty until the file is written once more (Linux, fs/fat/namei_vfat.c), so it is synced again
 * under that name. That comes after its folder: before, the name it had would be there as well, and with it the same blocks would
 * be under two names, of which the next run removes one. Who replaces a file keeps it open, so that its blocks are nobody else's
 * before the new name is the only one: until then the old content is there, and with one sector the new.
 */
export const renameSynced = async (from: string, to: string): Promise<void> => {
  // Whatever it is: a pipe would wait for somebody to write, and what a link leads to is not replaced.
  const old = await open(to, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(
    () => undefined,
  );
  try {
    await rename(from, to);
    await syncDirectory(dirname(to));
    const file = await open(to, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await old?.close();
  }
};
