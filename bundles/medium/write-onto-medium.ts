import { basename, dirname, join } from 'node:path';
import { FleetError } from '../errors.ts';
import { removeSynced } from '../layout/remove-synced.ts';
import { writeFileAtomically } from '../layout/write-file.ts';
import { holdFolder, named } from './hold-folder.ts';
import { fileIn } from './plain-files.ts';

/**
 * Writes one file onto a medium that is a folder, whole or not at all, and follows no link on the way.
 * @param path from the root @throws FleetError MEDIUM_INVALID where a link or something else is in a folder's or the file's place,
 * MEDIUM_MISSING; otherwise the system's error
 */
export const writeFileOntoMedium = async (root: string, path: string, bytes: Uint8Array): Promise<void> => {
  await using folder = await holdFolder(root, dirname(path), true);
  if (!folder)
    throw new FleetError('MEDIUM_MISSING', `there is no medium at ${root}`, {
      hint: 'Is the stick mounted?',
    });
  await fileIn(folder, basename(path));
  await named(folder, () => writeFileAtomically(join(folder.path, basename(path)), bytes));
};

/** Removes one regular file of a medium, if it is there. @throws FleetError MEDIUM_INVALID; otherwise the system's error */
export const removeFileFromMedium = async (root: string, path: string): Promise<void> => {
  await using folder = await holdFolder(root, dirname(path));
  if (!folder || !(await fileIn(folder, basename(path)))) return;
  await named(folder, () => removeSynced(join(folder.path, basename(path))));
};
