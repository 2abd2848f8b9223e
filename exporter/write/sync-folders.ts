import { join } from 'node:path';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { CHUNKS_FOLDER, DELTAS_FOLDER, PARTS_FOLDER, RECEIPTS_FOLDER } from '#bundles/formats/medium/medium';

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
  for (const folder of FOLDERS) {
    try {
      await syncDirectory(join(root, folder));
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
};
