import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defined } from '../../defined.ts';
import { FleetError } from '../../errors.ts';
import { syncDirectory } from './sync-directory.ts';

/**
 * `mkdir -p` that reports the system's error. Node's recursive mkdir reports a read-only disk as "no such file or directory",
 * and loops forever when the system returns ENOENT although the parent exists, as in /proc.
 * @throws FleetError IO when a component is a file, or the system keeps no folders there; otherwise the system's error
 */
export const createDirectory = async (path: string, mode?: number): Promise<void> => {
  try {
    await createAll(path, mode);
  } catch (error) {
    throw folderError(path, error);
  }
};

/** Why a folder cannot be created, as FleetError IO where another folder must be named; otherwise the error itself. */
export const folderError = (path: string, error: unknown): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR' || code === 'EEXIST')
    return new FleetError('IO', `${path} cannot be a folder: a file is in the way`, {
      cause: error,
      hint: 'Name another folder, or move the file',
    });
  if (code === 'ENOENT')
    return new FleetError('IO', `${path} cannot be created: the system keeps no folders there`, {
      cause: error,
      hint: 'Name another folder',
    });
  return error;
};

const createAll = async (path: string, mode: number | undefined): Promise<void> => {
  try {
    await createOne(path, mode);
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    await createAll(above, mode);
    await createOne(path, mode);
  }
};

/** Syncs the parent, which holds the name of the folder. The parent may be unreadable for this user; that is ignored. */
const syncAbove = async (path: string): Promise<void> => {
  try {
    await syncDirectory(dirname(path));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
};

/** Creates one folder. It may exist already, or be created by a concurrent process. */
const createOne = async (path: string, mode: number | undefined): Promise<void> => {
  try {
    await mkdir(path, defined({ mode }));
  } catch (error) {
    const isPresent = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isPresent) throw error;
    return;
  }
  // Outside of the try block, whose handler would ignore an error of it because the folder exists now.
  await syncAbove(path);
};
