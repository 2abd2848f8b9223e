import { dirname } from 'node:path';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { toldGone } from '../plan/medium/gone.ts';
import type { Target } from '../plan/medium/target.ts';

/** Gives back the room of what was there before: a file that is still open keeps its blocks, on FAT until somebody checks the disk. */
export const releaseBefore = async ({
  before,
  path,
  form,
}: Pick<Target, 'before' | 'path' | 'form'>): Promise<void> => {
  try {
    await before?.[Symbol.asyncDispose]();
    // Any sync writes the table of blocks.
    await syncDirectory(form === 'tar' ? dirname(path) : path);
  } catch (error) {
    throw toldGone(error, `writing to ${path}`);
  }
};
