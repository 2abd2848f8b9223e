import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { CHUNKS_FOLDER } from '#bundles/medium/medium';
import { TEMPORARY } from './write-part.ts';

/** The folders that only this program writes to, and what its files there look like. */
const OURS: readonly (readonly [folder: string, name: RegExp])[] = [
  ['blobs/sha256', /^[0-9a-f]{64}$/],
  [CHUNKS_FOLDER, /^[0-9a-f]{32}\.\d{3,5}$/],
];

/** Files that a killed run left half-written. */
export const sweepTemporary = async (root: string): Promise<void> => {
  for (const folder of ['fleet', ...OURS.map(([folder]) => folder)]) {
    for (const name of await list(join(root, folder)))
      if (TEMPORARY.test(name)) await rm(join(root, folder, name), { force: true });
  }
};

/** Blobs and pieces that the medium no longer names; files of any other name are somebody else's. Returns how many. */
export const sweepUnreferenced = async (root: string, keep: ReadonlySet<string>): Promise<number> => {
  let removed = 0;
  for (const [folder, pattern] of OURS) {
    for (const name of await list(join(root, folder))) {
      if (!pattern.test(name) || keep.has(`${folder}/${name}`)) continue;
      await rm(join(root, folder, name), { force: true });
      removed += 1;
    }
  }
  return removed;
};

const list = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFleetError(error, `listing ${folder}`);
  }
};
