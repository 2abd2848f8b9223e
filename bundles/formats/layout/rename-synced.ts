import { constants } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/**
 * Renames a synced file to its final name, durably.
 *
 * On FAT the new directory entry has size 0 until the file is written again (Linux, fs/fat/namei_vfat.c), so the file is synced again under
 * the new name. The folder is synced first: otherwise the old entry would still exist on the device and both would name the same
 * blocks, which the next run frees when it removes the old one. A replaced file stays open meanwhile, so that its blocks are not
 * reused before the new name is on the device.
 */
export const renameSynced = async (from: string, to: string): Promise<void> => {
  // O_NONBLOCK: a pipe would block. O_NOFOLLOW: the rename replaces a link, not its target.
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
