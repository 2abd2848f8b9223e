import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { inParallel } from '../../in-parallel.ts';
import { IS_WINDOWS } from '../../is-windows.ts';
import { retry } from '../../retry.ts';
import { syncDirectory } from './sync-directory.ts';

/**
 * Renames a synced file to its final name, durably.
 *
 * On FAT the new directory entry has size 0 until the file is written again (Linux, fs/fat/namei_vfat.c), so the file is synced again under
 * the new name. The folder is synced first: otherwise the old entry would still exist on the device and both would name the same
 * blocks, which the next run frees when it removes the old one. A replaced file stays open meanwhile, so that its blocks are not
 * reused before the new name is on the device. Windows refuses to replace a file that is open: there it is not held.
 */
export const renameSynced = (from: string, to: string): Promise<void> => renameAllSynced([{ from, to }]);

/** The same for many files. Each folder is synced once, and files are synced in parallel, so that one commit of the file system covers many. */
export const renameAllSynced = async (
  files: readonly { readonly from: string; readonly to: string }[],
): Promise<void> => {
  const replaced: FileHandle[] = [];
  try {
    for (const { from, to } of files) {
      const old = IS_WINDOWS ? undefined : await open(to, FLAGS).catch(() => undefined);
      if (old) replaced.push(old);
      await replace(from, to);
    }
    for (const folder of new Set(files.map(({ to }) => dirname(to)))) await syncDirectory(folder);
    await inParallel(files, MAX_SYNCS, async ({ to }) => {
      const file = await open(to, SYNC_FLAGS);
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    });
  } finally {
    for (const old of replaced) await old.close();
  }
};

/** O_NONBLOCK: a pipe would block. O_NOFOLLOW: the rename replaces a link, not its target. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Windows syncs a file only through a handle that may write (FlushFileBuffers), and has none of the other flags. */
const SYNC_FLAGS = IS_WINDOWS ? constants.O_RDWR : FLAGS;

/** On Windows, a virus scanner or an indexer may hold a new file open for a moment. */
const HELD = { firstMs: 20, longestMs: 500, tries: 8, jitter: 'none' } as const;
const isHeld = (error: unknown): boolean =>
  ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '');
const replace = (from: string, to: string): Promise<void> =>
  IS_WINDOWS ? retry(HELD, () => rename(from, to), { isRetryable: isHeld }) : rename(from, to);

/** Files that are synced at a time. */
export const MAX_SYNCS = 16;
