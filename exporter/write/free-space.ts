import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { formatBytes } from '#bundles/program/format-bytes';

/** Cluster sizes, folders, the metadata files. */
const MARGIN = 1 << 20;

/** Says so before an hour of copying and not after it. @throws FleetError DISK_FULL */
export const checkFreeSpace = async (folder: string, needed: number): Promise<void> => {
  const free = await freeBytes(folder);
  if (needed + (needed > 0 ? MARGIN : 0) <= free) return;
  throw new FleetError(
    'DISK_FULL',
    `${folder} has ${formatBytes(free)} free, ${formatBytes(needed)} are needed`,
    {
      hint: 'Use a larger stick or fewer channels, or send a delta with --for; what was there stays until then',
    },
  );
};

/** Of the file system that a folder is on, or will be on when it is made. */
export const freeBytes = async (folder: string): Promise<number> => {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    const above = dirname(folder);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && above !== folder) return freeBytes(above);
    throw toFleetError(error, `looking at ${folder}`);
  }
};

/** Bytes of parts that a stick takes, found by what is free on it. */
export const roomFor = async (folder: string): Promise<number> =>
  Math.max(0, (await freeBytes(folder)) - 4 * MARGIN);

/** MSDOS_SUPER_MAGIC of Linux: FAT12 to FAT32, whose files end at 4 GiB - 1. */
const FAT = 0x4d44;
export const FAT_MAX_FILE = 2 ** 32 - 1;

/** The largest file that the file system of this folder keeps, as far as is known. */
export const largestFile = async (folder: string): Promise<number> => {
  const { type } = await statfs(folder);
  return type === FAT ? FAT_MAX_FILE : Number.MAX_SAFE_INTEGER;
};
