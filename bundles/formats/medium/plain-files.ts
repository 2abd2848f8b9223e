import { constants } from 'node:fs';
import { type FileHandle, opendir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openRegularFile } from '../archive/open-regular-file.ts';
import { compareBytes } from '../../digest.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import { type OpenFolder, openMediumFolder, named } from './open-medium-folder.ts';
import { type Found, lookAt, otherKind } from './kind-of.ts';
import { MAX_MEDIUM_BYTES } from './medium.ts';

/** Limit of entries in a folder of an untrusted medium. */
const MAX_LISTED = 500_000;

/** Levels of subfolders that are listed; ours have at most two. */
const MAX_DEPTH = 3;

/**
 * Lists the regular files below a folder of a medium, as paths from its root, sorted; empty when it does not exist. Follows no link.
 * @throws FleetError MEDIUM_INVALID when a link or file is in place of the folder, TOO_MANY, PERMISSION, IO
 */
export const listFiles = (root: string, folder: string): Promise<readonly string[]> =>
  reading(join(root, folder), async () => {
    const files: string[] = [];
    let seen = 0;
    const list = async (path: string, depth: number): Promise<void> => {
      await using held = await openMediumFolder(root, path);
      if (!held) return;
      const below: string[] = [];
      await named(held, async () => {
        for await (const entry of await opendir(held.path, { bufferSize: 1024 })) {
          if (++seen > MAX_LISTED)
            throw new FleetError('TOO_MANY', `${join(root, folder)} has more than ${MAX_LISTED} files`, {
              hint: 'Remove the files that do not belong there, or use another medium',
            });
          if (entry.isFile() && !entry.name.startsWith('.')) files.push(`${path}/${entry.name}`);
          else if (entry.isDirectory()) below.push(`${path}/${entry.name}`);
        }
      });
      if (depth < MAX_DEPTH) for (const one of below) await list(one, depth + 1);
    };
    await list(folder, 0);
    return files.toSorted(compareBytes);
  });

/** Entries below a folder that no program reads. */
const MAX_ODD = 100;

/**
 * Lists the entries below a folder of a medium that are neither files nor folders, such as links, as errors that say so: a reader skips
 * them, so that a link in the place of a report hides it.
 * @returns at most 100 errors MEDIUM_INVALID
 */
export const findOddEntries = (root: string, folder: string): Promise<readonly FleetError[]> =>
  reading(join(root, folder), async () => {
    const found: FleetError[] = [];
    const look = async (path: string, depth: number): Promise<void> => {
      await using held = await openMediumFolder(root, path);
      if (!held) return;
      const below: string[] = [];
      await named(held, async () => {
        for await (const entry of await opendir(held.path, { bufferSize: 1024 })) {
          if (found.length === MAX_ODD) return;
          if (entry.isDirectory()) below.push(`${path}/${entry.name}`);
          else if (!entry.isFile()) {
            const kind = (await lookAt(join(held.path, entry.name)))?.kind;
            if (kind !== undefined && kind !== 'file' && kind !== 'folder')
              found.push(otherKind(`${path}/${entry.name}`, kind, 'file'));
          }
        }
      });
      if (depth < MAX_DEPTH) for (const one of below) await look(one, depth + 1);
    };
    await look(folder, 0);
    return found;
  });

/** Reads a small file of a medium; undefined when it does not exist. @throws FleetError TOO_LARGE, MEDIUM_INVALID, PERMISSION, IO */
export const readOptional = async (
  root: string,
  path: string,
  maxBytes = MAX_MEDIUM_BYTES,
): Promise<Buffer | undefined> => {
  const file = join(root, path);
  return reading(file, async () => {
    await using folder = await folderOf(root, path);
    return folder && (await readIn(folder, basename(path), file, maxBytes));
  });
};

const readIn = async (
  folder: OpenFolder,
  name: string,
  file: string,
  maxBytes: number,
): Promise<Buffer | undefined> => {
  await using handle = await openFileIn(folder, name);
  if (!handle) return undefined;
  const { size } = await handle.stat();
  if (size > maxBytes)
    throw new FleetError('TOO_LARGE', `${file} has ${size} bytes, at most ${maxBytes} are read`);
  return await handle.readFile();
};

/**
 * Returns a readOptional for the files of one medium, of which calls that run at the same time share the open folder: most of what
 * a small file costs is the way to its folder.
 */
export const sharedReader = (
  root: string,
): ((path: string, maxBytes: number) => Promise<Buffer | undefined>) => {
  const open = new Map<string, { readonly held: ReturnType<typeof openMediumFolder>; users: number }>();
  return (path, maxBytes) =>
    reading(join(root, path), async () => {
      const folder = dirname(path);
      const one = open.get(folder) ?? { held: openMediumFolder(root, folder), users: 0 };
      open.set(folder, one);
      one.users += 1;
      try {
        const held = await one.held;
        return held && (await readIn(held, basename(path), join(root, path), maxBytes));
      } finally {
        one.users -= 1;
        if (one.users === 0) {
          open.delete(folder);
          await (await one.held.catch(() => undefined))?.[Symbol.asyncDispose]();
        }
      }
    });
};

/** Size of a file of a medium in bytes; undefined when it does not exist. @throws FleetError MEDIUM_INVALID, PERMISSION, IO */
export const sizeOf = (root: string, path: string): Promise<number | undefined> =>
  reading(join(root, path), async () => {
    await using folder = await folderOf(root, path);
    return folder && (await fileIn(folder, basename(path)))?.size;
  });

/**
 * Opens a regular file of a medium for reading, without following a link in any component of its path.
 * @returns undefined when it does not exist
 * @throws FleetError MEDIUM_INVALID; otherwise the system's error
 */
export const openFileOf = async (root: string, path: string): Promise<FileHandle | undefined> => {
  await using folder = await folderOf(root, path);
  return folder && (await openFileIn(folder, basename(path)));
};

/** As openFileOf, in an open folder. */
export const openFileIn = async (folder: OpenFolder, name: string): Promise<FileHandle | undefined> => {
  if (!(await fileIn(folder, name))) return undefined;
  return named(folder, () => openRegularFile(join(folder.path, name), constants.O_NOFOLLOW));
};

/** Undefined when it does not exist. @throws FleetError MEDIUM_INVALID when it is not a regular file */
export const fileIn = async (folder: OpenFolder, name: string): Promise<Found | undefined> => {
  const found = await named(folder, () => lookAt(join(folder.path, name)));
  if (found && found.kind !== 'file') throw otherKind(join(folder.name, name), found.kind, 'file');
  return found;
};

const folderOf = (root: string, path: string): Promise<OpenFolder | undefined> =>
  openMediumFolder(root, dirname(path));

const reading = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw toFleetError(error, `reading ${what}`);
  }
};

export const notThere = (file: string, path: string): FleetError =>
  new FleetError('MISSING_BLOB', `${file} is not on the medium ${path}`);

/** False when the path cannot be read. */
export const isFolder = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
