import { dirname, join, resolve } from 'node:path';
import { syncDirectory } from '#bundles/layout/sync-directory';
import { CHUNKS_FOLDER, DELTAS_FOLDER, PARTS_FOLDER, RECEIPTS_FOLDER } from '#bundles/medium/medium';

const FOLDERS = [
  'blobs/sha256',
  'blobs',
  CHUNKS_FOLDER,
  DELTAS_FOLDER,
  RECEIPTS_FOLDER,
  PARTS_FOLDER,
  'fleet',
  '',
];

/**
 * Makes all names of a medium last, and that others are gone, last of all before it may be unplugged: on FAT a removed name that is
 * still there has the blocks that the next file gets. @throws the system's errors
 */
export const syncFolders = async (root: string): Promise<void> => {
  for (const folder of FOLDERS) await unlessMissing(syncDirectory(join(root, folder)), 'ENOENT', 'ENOTDIR');
  // It may be new itself, and above it may be nothing of ours.
  await unlessMissing(syncDirectory(dirname(resolve(root))), 'EACCES', 'EPERM');
};

const unlessMissing = async (work: Promise<void>, ...codes: readonly string[]): Promise<void> => {
  try {
    await work;
  } catch (error) {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
};
