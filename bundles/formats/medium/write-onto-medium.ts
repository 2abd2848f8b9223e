import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FleetError } from '../../errors.ts';
import { syncDirectory } from '../layout/sync-directory.ts';
import { type NewFile, writeFilesAtomically } from '../layout/write-file.ts';
import { openMediumFolder, named } from './open-medium-folder.ts';
import { fileIn } from './plain-files.ts';

/**
 * Writes one file onto a medium that is a folder, atomically, without following links.
 * @param path from the root
 * @throws FleetError MEDIUM_INVALID when a component of the path is a link or of another kind, MEDIUM_MISSING; otherwise the
 * system's error
 */
export const writeFileOntoMedium = (root: string, path: string, bytes: Uint8Array): Promise<void> =>
  writeFilesOntoMedium(root, [{ path, bytes }]);

/** The same for many files, each of which is replaced or not; those of a folder share the waits for the disk. */
export const writeFilesOntoMedium = async (root: string, files: readonly NewFile[]): Promise<void> => {
  for (const [below, own] of Map.groupBy(files, ({ path }) => dirname(path))) {
    await using folder = await openMediumFolder(root, below, true);
    if (!folder)
      throw new FleetError('MEDIUM_MISSING', `there is no medium at ${root}`, {
        hint: 'Check that the stick is mounted',
      });
    for (const { path } of own) await fileIn(folder, basename(path));
    await named(folder, () =>
      writeFilesAtomically(
        own.map(({ path, bytes }) => ({ path: join(folder.path, basename(path)), bytes })),
      ),
    );
  }
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
