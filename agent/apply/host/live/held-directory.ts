import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { errno, hostError } from '../host-error.ts';
import { isProtectedDirectory } from '#bundles/file-protection';

/** An open directory of a path that is being walked. */
export type OpenDirectory = {
  readonly handle: FileHandle;
  /** Its path below the root with links resolved: '/usr/lib', '' for the root itself. */
  readonly path: string;
  /** True if only root and the agent's user can replace it, their entries in it, and every directory above it. */
  readonly trusted: boolean;
};

/** A symbolic link found in an open directory. */
export type FoundLink = { readonly path: string; readonly target: string; readonly stats: Stats };

export type Entered =
  | { readonly type: 'directory'; readonly held: OpenDirectory }
  | ({ readonly type: 'link' } & FoundLink)
  | { readonly type: 'missing' }
  | { readonly type: 'no directory' };

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** @throws FleetError APPLY_FAILED if the host's root is not a directory; PERMISSION */
export const openRoot = async (root: string): Promise<OpenDirectory> => {
  const handle = await open(root, DIRECTORY).catch((error: unknown) => {
    throw errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR'
      ? new FleetError('APPLY_FAILED', `the host's root ${root} is not a directory`, { cause: error })
      : hostError(error, `opening ${root}`);
  });
  return hold(handle, '', true);
};

/** Opens a directory below an open one; a link is read and not followed. @throws FleetError PERMISSION, IO, APPLY_FAILED */
export const openSubdirectory = async (
  root: string,
  { handle, path, trusted }: OpenDirectory,
  name: string,
): Promise<Entered> => {
  const inside = `${path}/${name}`;
  const child = inDirectory(handle, join(root, path), name);
  try {
    const next = await open(child, DIRECTORY | constants.O_NOFOLLOW).catch((error: unknown) => {
      // Linux reports ENOTDIR for a link as well.
      if (errno(error) === 'ENOTDIR' || errno(error) === 'ELOOP') return undefined;
      throw error;
    });
    if (next) return { type: 'directory', held: await hold(next, inside, trusted) };
    const stats = await lstat(child);
    if (stats.isSymbolicLink()) return { type: 'link', path: inside, target: await readlink(child), stats };
    if (!stats.isDirectory()) return { type: 'no directory' };
  } catch (error) {
    if (errno(error) === 'ENOENT') return { type: 'missing' };
    throw hostError(error, `opening ${inside}`);
  }
  throw new FleetError('APPLY_FAILED', `${inside} was replaced while it was opened`, {
    hint: 'Run it again',
  });
};

const hold = async (handle: FileHandle, path: string, above: boolean): Promise<OpenDirectory> => {
  try {
    return { handle, path, trusted: above && isProtectedDirectory(await handle.stat()) };
  } catch (error) {
    await handle.close();
    throw hostError(error, `looking at ${path}`);
  }
};

/** On Linux names are looked up in the open directory through /proc; elsewhere by the path that was just walked. */
export const inDirectory = (handle: FileHandle, walked: string, name: string): string =>
  join(process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : walked, name);
