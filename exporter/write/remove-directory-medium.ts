import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CHUNKS_FOLDER, DELTAS_FOLDER, MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { sweepUnreferenced } from './sweep.ts';

/**
 * Removes the files of a directory medium from a volume that now has a set. Its table of contents is removed last, because it shows that
 * the other files are ours. Returns the number of removed files.
 */
export const removeDirectoryMedium = async (root: string): Promise<number> => {
  if ((await sizeOf(root, MEDIUM_FILE)) === undefined) return 0;
  let removed = await sweepUnreferenced(root, new Set());
  for (const path of ['index.json', 'oci-layout', MEDIUM_FILE]) {
    if ((await sizeOf(root, path)) === undefined) continue;
    await rm(join(root, path), { force: true });
    removed += 1;
  }
  for (const folder of ['blobs/sha256', 'blobs', CHUNKS_FOLDER, DELTAS_FOLDER])
    await rmdir(join(root, folder)).catch(() => {});
  return removed;
};
