import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { posix } from 'node:path';
import { hostError } from '../host-error.ts';
import { openFolder } from './open-folder.ts';

/** The text of a plain file of the host that readEntry has seen. @throws FleetError PERMISSION, APPLY_FAILED, IO */
export const readText = async (root: string, path: string): Promise<string> => {
  await using folder = await openFolder(root, posix.dirname(path));
  if (!folder) return '';
  try {
    await using file = await open(
      folder.at(posix.basename(path)),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    return await file.readFile('utf8');
  } catch (error) {
    throw hostError(error, `reading ${path}`);
  }
};
