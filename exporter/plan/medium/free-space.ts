import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { formatBytes } from '#cli/format-bytes';
import { entriesOf } from './folder-entries.ts';

/** Most bytes kept in reserve: temporary files beside those that they replace, and what others write meanwhile. */
const MARGIN = 1 << 20;

/** A file that is written, by its path on the medium. */
export type NeededFile = { readonly path: string; readonly size: number };

/** Files, or the bytes of a few large ones. */
export type Needed = readonly NeededFile[] | number;

/**
 * Checks the free space before writing: files take whole clusters of the file system, which are large on some media, and
 * so do their folders. @throws FleetError DISK_FULL
 */
export const checkFreeSpace = async (folder: string, files: Needed): Promise<void> => {
  const lack = await describeLackOfSpace(folder, files);
  if (lack === undefined) return;
  throw new FleetError('DISK_FULL', lack, {
    hint: 'Use a larger stick or fewer channels, or send a delta with --for; what was there stays until then',
  });
};

/** The message for a lack of space; undefined if there is enough. */
export const describeLackOfSpace = async (folder: string, needs: Needed): Promise<string | undefined> => {
  const { bavail, bsize } = await fileSystemOf(folder);
  const files = typeof needs === 'number' ? oneFile(needs) : needs;
  const [free, needed] = [bavail * bsize, clusterBytesOf(files, bsize)];
  if (needed <= free) return undefined;
  const bytes = files.reduce((total, { size }) => total + size, 0);
  const clusters = needed > 2 * bytes + MARGIN ? ` in clusters of ${formatBytes(bsize)}` : '';
  return `${folder} has ${formatBytes(free)} free, ${formatBytes(needed)} are needed${clusters}`;
};

/** Bytes of a name in a folder of FAT, per entry. */
const ENTRY = 32;

/**
 * Bytes that files take on a file system with clusters of this size: each its clusters, and each folder those of its names. With a reserve
 * of two clusters and a sixteenth, at most 1 MiB more. 0 for no file.
 */
export const clusterBytesOf = (files: readonly NeededFile[], cluster: number): number => {
  if (files.length === 0) return 0;
  const whole = (bytes: number): number => Math.ceil(bytes / cluster) * cluster;
  const names = new Map<string, number>();
  for (const { path } of files) {
    for (let at = path; at !== '.' && at !== '/'; at = dirname(at)) {
      const name = at.slice(at.lastIndexOf('/') + 1);
      names.set(dirname(at), (names.get(dirname(at)) ?? 0) + entriesOf(name) * ENTRY);
    }
  }
  // Names of folders count once for each file in them, which is a few bytes too many; the root has a place of its own.
  const folders = [...names].reduce((total, [at, bytes]) => total + (at === '.' ? 0 : whole(bytes)), 0);
  const content = files.reduce((total, { size }) => total + whole(size), folders);
  return content + 2 * cluster + Math.min(MARGIN, Math.ceil(content / 16));
};

/** Of a folder, which need not exist yet. */
const fileSystemOf = async (folder: string): Promise<StatsFs> => {
  try {
    return await statfs(folder);
  } catch (error) {
    const above = dirname(folder);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && above !== folder) return fileSystemOf(above);
    throw toFleetError(error, `looking at ${folder}`);
  }
};

/** Most files beside the parts of a volume: lists, receipts, temporary files. They are small, and take a cluster each. */
const FILES_BESIDE = 16;

/** A volume that carries so many bytes in parts, with the files beside them. */
export const filesOfVolume = (parts: number): readonly NeededFile[] => [
  { path: 'parts', size: parts },
  ...Array.from({ length: FILES_BESIDE }, () => ({ path: 'beside', size: 1 })),
];

/** Bytes of parts that fit a volume, by its free space, of which a sixteenth is kept in reserve, at most 4 MiB, and room for other files. */
export const roomFor = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await fileSystemOf(folder);
  const free = bavail * bsize;
  return Math.max(0, free - Math.max(Math.min(4 * MARGIN, Math.ceil(free / 16)), FILES_BESIDE * bsize));
};

/** MSDOS_SUPER_MAGIC of Linux: FAT12 to FAT32, with files of at most 4 GiB - 1. */
const FAT = 0x4d44;
export const FAT_MAX_FILE = 2 ** 32 - 1;

/** The message for a file that is too large for the file system of the folder. */
export const tooLargeFor = async (folder: string, size: number): Promise<string | undefined> =>
  size > FAT_MAX_FILE && (await isFat(folder))
    ? `${folder} cannot hold a file of ${formatBytes(size)}: it is FAT32`
    : undefined;

/** The largest file that the file system of this folder supports. Only Linux names the file system: elsewhere it may be FAT. */
export const largestFile = async (folder: string, platform = process.platform): Promise<number> =>
  platform !== 'linux' || (await isFat(folder)) ? FAT_MAX_FILE : Number.MAX_SAFE_INTEGER;

/** Whether a folder, which need not exist yet, is or will be on FAT, as far as the system says so. */
export const isFat = async (folder: string): Promise<boolean> => (await fileSystemOf(folder)).type === FAT;

const oneFile = (size: number): readonly NeededFile[] => (size === 0 ? [] : [{ path: 'file', size }]);
