import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../errors.ts';
import { IS_WINDOWS } from '../../is-windows.ts';
import { syncDirectory } from '../layout/sync-directory.ts';
import { lookAt, otherKind } from './kind-of.ts';

/** A folder of a medium, held open: it stays the same folder even when its path is replaced. */
export type OpenFolder = AsyncDisposable & {
  /** A path to the open folder. Names appended to it are resolved in that folder, as by openat(2). */
  readonly path: string;
  /** Its path for messages. */
  readonly name: string;
};

/** With O_DIRECTORY the kernel opens neither a pipe nor a device. */
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;

/** Linux has a path for each open file. Elsewhere the folder's own path is used, whose components were checked. */
const OPEN_FILES = '/proc/self/fd';
const hasPathsOfOpenFiles = process.platform === 'linux' && existsSync(OPEN_FILES);

/**
 * Opens a folder of a medium, component by component. Follows no link below the root; the root itself may be one, as the user named it.
 * @param folder path from the root; '' for the root itself
 * @param make creates missing folders
 * @returns undefined when it does not exist
 * @throws FleetError MEDIUM_INVALID; otherwise the system's error
 */
export const openMediumFolder = async (
  root: string,
  folder: string,
  make = false,
): Promise<OpenFolder | undefined> => {
  let held = await enter(root, root, true);
  for (const name of folder.split('/').filter((part) => part !== '' && part !== '.')) {
    if (!held) return undefined;
    await using above = held;
    held = await step(above, name, make);
  }
  return held;
};

const step = async (above: OpenFolder, name: string, make: boolean): Promise<OpenFolder | undefined> => {
  const shown = join(above.name, name);
  return named(above, async () => {
    const inside = join(above.path, name);
    const found = await enter(inside, shown, false);
    if (found || !make) return found;
    try {
      await mkdir(inside);
      await syncDirectory(above.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return enter(inside, shown, false);
  });
};

const enter = async (path: string, shown: string, isRoot: boolean): Promise<OpenFolder | undefined> => {
  try {
    if (IS_WINDOWS) await refuseNoFolder(path, isRoot);
    return held(await open(path, isRoot ? FOLDER : FOLDER | constants.O_NOFOLLOW), path, shown);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    const kind = isRoot ? 'file' : (await lookAt(path))?.kind;
    if (kind === undefined || kind === 'folder') throw replacedMeanwhile(shown);
    throw otherKind(shown, kind, 'folder');
  }
};

/** Windows has no O_DIRECTORY and no O_NOFOLLOW: it would open a file, and follow a link. @throws ENOENT, ENOTDIR as open(2) would */
const refuseNoFolder = async (path: string, isRoot: boolean): Promise<void> => {
  const isFolder = isRoot ? (await stat(path)).isDirectory() : (await lstat(path)).isDirectory();
  if (isFolder) return;
  throw Object.assign(new Error(`ENOTDIR: not a directory, open '${path}'`), { code: 'ENOTDIR' });
};

/** Refuses a path that was no folder when it was opened, and is one or is missing now. */
const replacedMeanwhile = (shown: string): FleetError =>
  new FleetError('MEDIUM_INVALID', `${shown} was replaced while it was opened`, {
    hint: 'Find out which program or person changes this medium, then try again',
  });

const held = (handle: FileHandle, path: string, name: string): OpenFolder => {
  let isOpen = true;
  return {
    name,
    get path() {
      if (isOpen) return hasPathsOfOpenFiles ? `${OPEN_FILES}/${handle.fd}` : path;
      // The file descriptor may belong to another folder by now.
      throw new FleetError('INTERNAL', `the folder ${name} was closed and is still used`);
    },
    [Symbol.asyncDispose]: async () => {
      isOpen = false;
      await handle.close();
    },
  };
};

/** Runs `work` in a folder. In the messages of errors it replaces the path of the descriptor by the folder's name. */
export const named = async <T>(folder: OpenFolder, work: () => Promise<T>): Promise<T> => {
  const { path, name } = folder;
  try {
    return await work();
  } catch (error) {
    if (path !== name)
      for (let one: unknown = error; one instanceof Error; one = one.cause)
        one.message = one.message.replaceAll(new RegExp(`${path}(?!\\d)`, 'g'), () => name);
    throw error;
  }
};
