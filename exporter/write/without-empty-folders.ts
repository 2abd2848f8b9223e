import { lstat, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isFleetError } from '#bundles/errors';

/**
 * Runs work that creates these folders and their parents. If it fails, removes those that did not exist before and are empty, so that a
 * refusal leaves nothing on a medium.
 */
export const withoutEmptyFolders = async <T>(
  folders: readonly string[],
  work: () => Promise<T>,
): Promise<T> => {
  const made: string[] = [];
  for (const folder of new Set(folders.flatMap(withParents))) if (await isAbsent(folder)) made.push(folder);
  try {
    return await work();
  } catch (error) {
    // On BUSY, the other export creates the same folders.
    if (!isFleetError(error, 'BUSY'))
      for (const folder of made.toSorted((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {});
    throw error;
  }
};

const withParents = (path: string): readonly string[] =>
  dirname(path) === path ? [] : [path, ...withParents(dirname(path))];

const isAbsent = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
