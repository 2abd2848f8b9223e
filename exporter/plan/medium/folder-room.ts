import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { entriesOf } from './folder-entries.ts';
import { isFat } from './free-space.ts';

/**
 * Entries of 32 bytes that a folder of FAT has room for: 2 MiB (Microsoft's FAT32 specification 1.03, "FAT Directory Structure"; Linux,
 * FAT_MAX_DIR_SIZE). Beyond it a write fails with ENOSPC on a file system that has space.
 */
const MAX_ENTRIES = 65_536;

/** `.`, `..`, and temporary files of two entries each while they are written. */
const RESERVED = 2 + 16;

/**
 * The message for a folder that would have more entries than FAT keeps; undefined if there is room, or the file system is another one.
 * What is there now stays until the new medium is complete, and counts.
 * @param paths of the files of the new medium, relative to `root` @throws FleetError PERMISSION, IO
 */
export const lackOfEntries = async (
  root: string,
  paths: readonly string[],
  isLimited = isFat,
): Promise<string | undefined> => {
  if (!(await isLimited(root))) return undefined;
  for (const [folder, wanted] of Map.groupBy(paths, (path) => dirname(path))) {
    const there = (await unlessMissing(readdir(join(root, folder)), `listing ${join(root, folder)}`)) ?? [];
    const names = new Set([...there, ...wanted.map((path) => basename(path))]);
    const entries = [...names].reduce((total, name) => total + entriesOf(name), RESERVED);
    if (entries > MAX_ENTRIES)
      return `${join(root, folder)} has no room for ${names.size} files: FAT keeps ${MAX_ENTRIES} entries in a folder, and ${entries} are needed`;
  }
  return undefined;
};

/** Checks the folders of a medium before anything is written. @throws FleetError DISK_FULL; as lackOfEntries */
export const checkFolderRoom = async (root: string, paths: readonly string[]): Promise<void> => {
  const lack = await lackOfEntries(root, paths);
  if (lack === undefined) return;
  throw new FleetError('DISK_FULL', lack, {
    hint: 'Format the stick as exFAT or ext4, write one tar file onto it, or use fewer channels; what was there stays until then',
  });
};
