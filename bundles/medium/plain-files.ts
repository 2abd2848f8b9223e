import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '../digest.ts';
import { FleetError, toFleetError } from '../errors.ts';
import { MAX_MEDIUM_BYTES } from './medium.ts';

/** Files below a folder of a stick, as paths from the stick's root, sorted; none where it is not. */
export const listFiles = async (root: string, folder: string): Promise<readonly string[]> => {
  try {
    const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length))
      .toSorted(compareBytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw toFleetError(error, `listing ${join(root, folder)}`);
  }
};

/** A small file, or undefined where there is none. @throws FleetError TOO_LARGE, MEDIUM_INVALID, PERMISSION, IO */
export const readOptional = async (
  file: string,
  maxBytes = MAX_MEDIUM_BYTES,
): Promise<Buffer | undefined> => {
  const size = await sizeOf(file);
  if (size === undefined) return undefined;
  if (size > maxBytes)
    throw new FleetError('TOO_LARGE', `${file} has ${size} bytes, at most ${maxBytes} are read`);
  return readFile(file).catch((error: unknown) => {
    throw toFleetError(error, `reading ${file}`);
  });
};

/** Undefined where nothing is. A pipe or device would be read for ever. @throws FleetError MEDIUM_INVALID */
export const sizeOf = async (file: string): Promise<number | undefined> => {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `reading ${file}`);
  });
  if (found && !found.isFile()) throw new FleetError('MEDIUM_INVALID', `${file} is not a file`);
  return found?.size;
};

export const notThere = (file: string, path: string): FleetError =>
  new FleetError('MISSING_BLOB', `${file} is not on the medium ${path}`);

/**
 * Is one of the folders above a file of a stick a symbolic link, which nothing of ours is? What lies behind is not the stick's, to
 * be written or removed.
 */
export const leadsAway = async (root: string, path: string): Promise<boolean> => {
  const folders = path.split('/').slice(0, -1);
  for (const at of folders.keys()) {
    const found = await lstat(join(root, ...folders.slice(0, at + 1))).catch(() => undefined);
    if (!found) return false;
    if (found.isSymbolicLink()) return true;
  }
  return false;
};

/** What cannot be looked at is none. */
export const isFolder = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
