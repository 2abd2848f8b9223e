import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { FleetError } from '#bundles/errors';
import { errno, hostError } from '../host-error.ts';

/** A directory held open: names in it are looked up in this directory, whatever happens to the path meanwhile. */
export type Folder = AsyncDisposable & {
  /** The directory itself, for chmod and chown. */
  readonly handle: FileHandle;
  /** A path to an entry of it, for the calls of node:fs. */
  readonly at: (name: string) => string;
  /** Makes a rename, link or unlink in it durable. */
  readonly sync: () => Promise<void>;
};

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** As many as Linux follows in one path (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Opens the directory `path` of the host whose '/' is `root`; undefined when it or a parent is missing or
 * no directory: nothing is there either way.
 * It is walked component by component without following a link, so nobody can swap a component for a link under us.
 * A link is followed only by resolving it first: it must stay inside root and belong to root or to us.
 * @throws FleetError APPLY_FAILED (link that leads out, dangles or is a stranger's), PERMISSION
 */
export const openFolder = async (root: string, path: string): Promise<Folder | undefined> => {
  let parts = path.split('/').filter((part) => part !== '');
  for (let links = 0; links <= MAX_LINKS; links++) {
    const walked = await walk(root, parts);
    if (walked.type === 'missing') return undefined;
    if (walked.type === 'folder') return walked.folder;
    const target = await followInside(root, walked.link);
    parts = [...target, ...walked.rest];
  }
  throw new FleetError('APPLY_FAILED', `${path} leads through more than ${MAX_LINKS} symbolic links`);
};

type Walked =
  | { readonly type: 'missing' }
  | { readonly type: 'folder'; readonly folder: Folder }
  | { readonly type: 'link'; readonly link: readonly string[]; readonly rest: readonly string[] };

const walk = async (root: string, parts: readonly string[]): Promise<Walked> => {
  let handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY).catch((error: unknown) => {
    throw errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR'
      ? new FleetError('APPLY_FAILED', `the host's root ${root} is no directory`, { cause: error })
      : hostError(error, `opening ${root}`);
  });
  for (const [index, part] of parts.entries()) {
    const here = parts.slice(0, index + 1);
    const name = `/${here.join('/')}`;
    const child = join(base(handle, join(root, ...parts.slice(0, index))), part);
    try {
      const next = await open(child, FLAGS);
      await handle.close();
      handle = next;
    } catch (error) {
      const code = errno(error);
      const stats = await lstat(child).catch(() => undefined);
      await handle.close();
      if (stats?.isSymbolicLink()) return { type: 'link', link: here, rest: parts.slice(index + 1) };
      if (code === 'ENOENT' || code === 'ENOTDIR') return { type: 'missing' };
      throw hostError(error, `opening ${name}`);
    }
  }
  return { type: 'folder', folder: asFolder(handle, join(root, ...parts)) };
};

/** Linux looks a name up in an open directory through /proc; elsewhere the path that was just walked has to do. */
const base = (handle: FileHandle, walked: string): string =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : walked;

const asFolder = (handle: FileHandle, walked: string): Folder => ({
  handle,
  at: (name) => join(base(handle, walked), name),
  sync: () => handle.sync(),
  [Symbol.asyncDispose]: () => handle.close(),
});

/** The components of where a link leads, seen from root. */
const followInside = async (root: string, link: readonly string[]): Promise<readonly string[]> => {
  const name = `/${link.join('/')}`;
  const path = join(root, ...link);
  const { uid } = await lstat(path).catch((error: unknown) => {
    throw hostError(error, `reading the link ${name}`);
  });
  // Whoever may place links in the way of root's writes could have us write anywhere: only root's and our own count.
  if (uid !== 0 && uid !== process.geteuid?.())
    throw new FleetError(
      'APPLY_FAILED',
      `${name} is a symbolic link that belongs to user ${uid}: not followed`,
    );
  const target = await realpath(path).catch((error: unknown) => {
    throw errno(error) === 'ENOENT'
      ? new FleetError('APPLY_FAILED', `${name} is a symbolic link that leads nowhere`, { cause: error })
      : hostError(error, `following the link ${name}`);
  });
  const inside = relative(await realpath(root), target);
  if (inside === '..' || inside.startsWith('../') || isAbsolute(inside))
    throw new FleetError(
      'APPLY_FAILED',
      `${name} is a symbolic link that leads out of ${root}: not followed`,
    );
  return inside.split('/').filter((part) => part !== '');
};
