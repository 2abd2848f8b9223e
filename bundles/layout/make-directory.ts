import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError } from '../errors.ts';
import { syncDirectory } from './sync-directory.ts';

/**
 * `mkdir -p`, with the true reason when it fails. Node's own calls a read-only disk "no such file or directory", and never
 * ends where the system says so of a folder whose parent is there, as in /proc.
 * @throws FleetError IO where a file is in the way; otherwise the system's error
 */
export const makeDirectory = async (path: string, mode?: number): Promise<void> => {
  try {
    await makeAll(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTDIR' && code !== 'EEXIST') throw error;
    throw new FleetError('IO', `${path} cannot be a folder: a file is in the way`, {
      cause: error,
      hint: 'Name another folder, or move the file',
    });
  }
};

const makeAll = async (path: string, mode: number | undefined): Promise<void> => {
  try {
    await makeOne(path, mode);
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    await makeAll(above, mode);
    await makeOne(path, mode);
  }
};

/** A folder lasts when the one above it does; that may be somebody else's, who lets nobody look into it. */
const syncAbove = async (path: string): Promise<void> => {
  try {
    await syncDirectory(dirname(path));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
};

/** Makes one folder, or finds it made, by somebody who works beside too. */
const makeOne = async (path: string, mode: number | undefined): Promise<void> => {
  try {
    await mkdir(path, { ...(mode !== undefined && { mode }) });
  } catch (error) {
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) throw error;
    return;
  }
  // Outside, where a folder that is there now would hide what went wrong.
  await syncAbove(path);
};
