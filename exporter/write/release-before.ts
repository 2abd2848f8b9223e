import { dirname } from 'node:path';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { explainGone } from '../plan/medium/explain-gone.ts';
import type { Target } from '../plan/medium/target.ts';

/** Releases the space of a replaced file. A file that is still open keeps its blocks, on FAT until a disk check. */
export const releaseBefore = async ({
  before,
  path,
  form,
}: Pick<Target, 'before' | 'path' | 'form'>): Promise<void> => {
  try {
    await before?.[Symbol.asyncDispose]();
    // Any sync writes the allocation table.
    await syncDirectory(form === 'tar' ? dirname(path) : path);
  } catch (error) {
    throw explainGone(error, `writing to ${path}`);
  }
};
