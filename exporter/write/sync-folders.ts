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
 * Syncs the directories of a medium as the last step before it may be removed. On FAT, a removed name that reappears has blocks that may
 * belong to another file by then. @throws errors of the file system
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
