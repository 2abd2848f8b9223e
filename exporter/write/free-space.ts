import { statfs } from 'node:fs/promises';
import { FleetError, toFleetError } from '#bundles/errors';
import { formatBytes } from '../show/format-bytes.ts';

/** Cluster sizes, folders, the metadata files. */
const MARGIN = 1 << 20;

/** Says so before an hour of copying and not after it. @throws FleetError DISK_FULL */
export const checkFreeSpace = async (folder: string, needed: number): Promise<void> => {
  const found = await statfs(folder).catch((error: unknown) => {
    throw toFleetError(error, `looking at ${folder}`);
  });
  const free = found.bavail * found.bsize;
  if (needed + (needed > 0 ? MARGIN : 0) <= free) return;
  throw new FleetError(
    'DISK_FULL',
    `${folder} has ${formatBytes(free)} free, ${formatBytes(needed)} are needed`,
    {
      hint: 'Use a larger stick or fewer channels, or send a delta with --for; what was there stays until then',
    },
  );
};

/** MSDOS_SUPER_MAGIC of Linux: FAT12 to FAT32, whose files end at 4 GiB - 1. */
const FAT = 0x4d44;
const FAT_MAX_FILE = 2 ** 32 - 1;

/** The largest file that the file system of this folder keeps, as far as is known. */
export const largestFile = async (folder: string): Promise<number> => {
  const { type } = await statfs(folder);
  return type === FAT ? FAT_MAX_FILE : Number.MAX_SAFE_INTEGER;
};
