import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../errors.ts';
import { syncDirectory } from '../layout/sync-directory.ts';
import { lookAt, otherKind } from './kind-of.ts';

/** A folder of a medium, held open: it stays the same one, whatever is put in its place meanwhile. */
export type HeldFolder = AsyncDisposable & {
  /** A path to the folder that was opened. A name behind it is looked up in that folder, as openat(2) does. */
  readonly path: string;
  /** Where a person finds it. */
  readonly name: string;
};

/** With O_DIRECTORY the kernel opens neither a pipe nor a device. */
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;

/** Linux has a path for each open file. Elsewhere the folder's own path is used, and each name of it was checked. */
const OPEN_FILES = '/proc/self/fd';
const hasPathsOfOpenFiles = existsSync(OPEN_FILES);

/**
 * Opens a folder of a medium, one name after the other, and follows no link below the root: that one was named by the person.
 * @param folder path from the root; '' for the root itself
 * @param make makes the folders that are not there
 * @returns undefined where it is not there @throws FleetError MEDIUM_INVALID; otherwise the system's error
 */
export const holdFolder = async (
  root: string,
  folder: string,
  make = false,
): Promise<HeldFolder | undefined> => {
  let held = await enter(root, root, 0);
  for (const name of folder.split('/').filter((part) => part !== '' && part !== '.')) {
    if (!held) return undefined;
    await using above = held;
    held = await step(above, name, make);
  }
  return held;
};

const step = async (above: HeldFolder, name: string, make: boolean): Promise<HeldFolder | undefined> => {
  const shown = join(above.name, name);
  return named(above, async () => {
    const inside = join(above.path, name);
    const found = await enter(inside, shown, constants.O_NOFOLLOW);
    if (found || !make) return found;
    try {
      await mkdir(inside);
      await syncDirectory(above.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return enter(inside, shown, constants.O_NOFOLLOW);
  });
};

const enter = async (path: string, shown: string, flags: number): Promise<HeldFolder | undefined> => {
  try {
    return held(await open(path, FOLDER | flags), path, shown);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    const kind = flags === 0 ? 'file' : (await lookAt(path))?.kind;
    throw otherKind(shown, kind ?? 'file', 'folder');
  }
};

const held = (handle: FileHandle, path: string, name: string): HeldFolder => {
  let isOpen = true;
  return {
    name,
    get path() {
      if (isOpen) return hasPathsOfOpenFiles ? `${OPEN_FILES}/${handle.fd}` : path;
      // Its number may be that of another folder by now.
      throw new FleetError('INTERNAL', `the folder ${name} was closed and is still used`);
    },
    [Symbol.asyncDispose]: async () => {
      isOpen = false;
      await handle.close();
    },
  };
};

/** Runs work in a folder. What the system says of the path that it is held by is said of the one that a person knows. */
export const named = async <T>(folder: HeldFolder, work: () => Promise<T>): Promise<T> => {
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
