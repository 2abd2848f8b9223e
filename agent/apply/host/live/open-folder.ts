import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type Component, componentsOf, linkTarget } from './follow-link.ts';
import { enter, type Held, inDirectory, openRoot } from './held-directory.ts';

/** A directory held open: names in it are looked up in this directory, whatever happens to the path meanwhile. */
export type Folder = AsyncDisposable & {
  /** The directory itself, for chmod and chown. */
  readonly handle: FileHandle;
  /** A path to an entry of it, for the calls of node:fs. */
  readonly at: (name: string) => string;
  /** Makes a rename, link or unlink in it durable. */
  readonly sync: () => Promise<void>;
  /** Nobody but root and the agent's user can replace it, an entry of theirs in it, or a directory above it. */
  readonly trusted: boolean;
};

/** As many as Linux follows in one path (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Opens the directory `path` of the host whose '/' is `root`; undefined when it or a parent is missing or no directory. Everything
 * that reads or changes the host goes through it.
 *
 * It opens one component at a time, in the directory that it holds open and without following a link (openat(2) with
 * O_NOFOLLOW), so replacing a component meanwhile leads nowhere else. A symbolic link is followed only by walking its target in the
 * same way, and only where nobody but root and the agent's user could have placed it (follow-link.ts).
 * @throws FleetError APPLY_FAILED (a link that is not followed, leads out of root or nowhere), PERMISSION, IO
 */
export const openFolder = async (root: string, path: string): Promise<Folder | undefined> => {
  const way: Held[] = [await openRoot(root)];
  try {
    if (!(await walk(root, path, way))) return undefined;
    const found = way.pop();
    return found && asFolder(root, found);
  } finally {
    await close(way);
  }
};

/** Walks on from the root that is held; true when the last of `way` is what `path` names. */
const walk = async (root: string, path: string, way: Held[]): Promise<boolean> => {
  const left: Component[] = componentsOf(path).toReversed();
  let links = 0;
  for (let next = left.pop(); next; next = left.pop()) {
    if (next.name === '..') {
      if (way.length > 1) await close(way.splice(-1));
      else if (root !== '/') throw leadsOut(root, next.link ?? path);
      continue;
    }
    const here = way.at(-1) as Held;
    const found = await enter(root, here, next.name);
    if (found.type === 'directory') {
      way.push(found.held);
      continue;
    }
    if (found.type === 'missing' && next.link !== undefined)
      throw new FleetError('APPLY_FAILED', `${next.link} is a symbolic link that leads nowhere`);
    if (found.type !== 'link') return false;
    links += 1;
    if (links > MAX_LINKS)
      throw new FleetError('APPLY_FAILED', `${path} leads through more than ${MAX_LINKS} symbolic links`);
    const target = await linkTarget(root, way, found);
    if (target === undefined) throw leadsOut(root, found.path);
    if (target.absolute) await close(way.splice(1));
    left.push(...target.components.toReversed());
  }
  return true;
};

const leadsOut = (root: string, link: string): FleetError =>
  new FleetError('APPLY_FAILED', `${link} is a symbolic link that leads out of ${root}: not followed`);

const close = async (way: readonly Held[]): Promise<void> => {
  for (const { handle } of way) await handle.close();
};

const asFolder = (root: string, { handle, path, trusted }: Held): Folder => ({
  handle,
  at: (name) => inDirectory(handle, join(root, path), name),
  sync: () => handle.sync(),
  trusted,
  [Symbol.asyncDispose]: () => handle.close(),
});
