import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { formatBytes } from '#cli/format-bytes';

/** Reserve in bytes for cluster sizes, folders and metadata files. */
const MARGIN = 1 << 20;

/** Checks the free space before writing. @throws FleetError DISK_FULL */
export const checkFreeSpace = async (folder: string, needed: number): Promise<void> => {
  const lack = await lackOfSpace(folder, needed);
  if (lack === undefined) return;
  throw new FleetError('DISK_FULL', lack, {
    hint: 'Use a larger stick or fewer channels, or send a delta with --for; what was there stays until then',
  });
};

/** The message for a lack of space; undefined if there is enough. */
export const lackOfSpace = async (folder: string, bytes: number): Promise<string | undefined> => {
  const free = await freeBytes(folder);
  const needed = bytes + (bytes > 0 ? MARGIN : 0);
  return needed <= free
    ? undefined
    : `${folder} has ${formatBytes(free)} free, ${formatBytes(needed)} are needed`;
};

/** Free bytes of the file system of a folder, which need not exist yet. */
const freeBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await fileSystemOf(folder);
  return bavail * bsize;
};

const fileSystemOf = async (folder: string): Promise<StatsFs> => {
  try {
    return await statfs(folder);
  } catch (error) {
    const above = dirname(folder);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && above !== folder) return fileSystemOf(above);
    throw toFleetError(error, `looking at ${folder}`);
  }
};

/** Bytes of parts that fit a volume, by its free space. */
export const roomFor = async (folder: string): Promise<number> =>
  Math.max(0, (await freeBytes(folder)) - 4 * MARGIN);

/** MSDOS_SUPER_MAGIC of Linux: FAT12 to FAT32, with files of at most 4 GiB - 1. */
const FAT = 0x4d44;
export const FAT_MAX_FILE = 2 ** 32 - 1;

/** The message for a file that is too large for the file system of the folder. */
export const tooLargeFor = async (folder: string, size: number): Promise<string | undefined> =>
  size > (await largestFile(folder))
    ? `${folder} keeps no file of ${formatBytes(size)}: it is FAT32`
    : undefined;

/** The largest file that the file system of this folder supports, if known. */
export const largestFile = async (folder: string): Promise<number> => {
  return (await isFat(folder)) ? FAT_MAX_FILE : Number.MAX_SAFE_INTEGER;
};

/** Whether a folder, which need not exist yet, is or will be on FAT. */
export const isFat = async (folder: string): Promise<boolean> => (await fileSystemOf(folder)).type === FAT;
