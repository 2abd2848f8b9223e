import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FleetError } from '../../errors.ts';
import { syncDirectory } from '../layout/sync-directory.ts';
import { writeFileAtomically } from '../layout/write-file.ts';
import { openMediumFolder, named } from './open-medium-folder.ts';
import { fileIn } from './plain-files.ts';

/**
 * Writes one file onto a medium that is a folder, atomically, without following links.
 * @param path from the root
 * @throws FleetError MEDIUM_INVALID when a component of the path is a link or of another kind, MEDIUM_MISSING; otherwise the
 * system's error
 */
export const writeFileOntoMedium = async (root: string, path: string, bytes: Uint8Array): Promise<void> => {
  await using folder = await openMediumFolder(root, dirname(path), true);
  if (!folder)
    throw new FleetError('MEDIUM_MISSING', `there is no medium at ${root}`, {
      hint: 'Check that the stick is mounted',
    });
  await fileIn(folder, basename(path));
  await named(folder, () => writeFileAtomically(join(folder.path, basename(path)), bytes));
};

/** Removes one regular file of a medium, if it is there. @throws FleetError MEDIUM_INVALID; otherwise the system's error */
export const removeFileFromMedium = (root: string, path: string): Promise<void> =>
  removeFilesFromMedium(root, [path]);

/** Removes several files; each folder is synced once, after its last file. */
export const removeFilesFromMedium = async (
  root: string,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<void> => {
  for (const [below, files] of Map.groupBy(paths, (path) => dirname(path))) {
    await using folder = await openMediumFolder(root, below);
    if (!folder) continue;
    let removed = false;
    for (const file of files) {
      signal?.throwIfAborted();
      if (!(await fileIn(folder, basename(file)))) continue;
      await named(folder, () => rm(join(folder.path, basename(file)), { force: true }));
      removed = true;
    }
    if (removed) await named(folder, () => syncDirectory(folder.path));
  }
};
