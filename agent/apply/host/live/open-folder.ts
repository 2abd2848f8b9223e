import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type Component, componentsOf, linkTarget, MAX_LINKS } from './follow-link.ts';
import { openSubdirectory, type OpenDirectory, inDirectory, openRoot } from './held-directory.ts';

/** An open directory. Names are looked up in this directory even if its path changes meanwhile. */
export type Folder = AsyncDisposable & {
  /** Descriptor of the directory, for chmod and chown. */
  readonly handle: FileHandle;
  /** Returns a path to an entry for the functions of node:fs. */
  readonly at: (name: string) => string;
  /** Makes a rename, link or unlink in the directory durable. */
  readonly sync: () => Promise<void>;
  /** True if only root and the agent's user can replace it, their entries in it, and every directory above it. */
  readonly trusted: boolean;
};

/**
 * Opens the directory `path` of the host whose '/' is `root`; undefined if it or a parent is missing or not a directory. All reads and
 * writes of the host go through this function.
 *
 * It opens one component at a time relative to the open parent and without following links (openat(2) with O_NOFOLLOW), so replacing
 * a component meanwhile cannot redirect it. The target of a symbolic link is walked in the same way, and only if no user but root and
 * the agent's can have placed the link (follow-link.ts).
 * @throws FleetError APPLY_FAILED (a link that is not followed, leads out of root or nowhere), PERMISSION, IO
 */
export const openFolder = async (root: string, path: string): Promise<Folder | undefined> => {
  const way: OpenDirectory[] = [await openRoot(root)];
  try {
    if (!(await walk(root, path, way))) return undefined;
    const found = way.pop();
    return found && asFolder(root, found);
  } finally {
    await close(way);
  }
};

/** Walks the components from the open root; true if the last of `way` is the directory that `path` names. */
const walk = async (root: string, path: string, way: OpenDirectory[]): Promise<boolean> => {
  const left: Component[] = componentsOf(path).toReversed();
  let links = 0;
  for (let next = left.pop(); next; next = left.pop()) {
    if (next.name === '..') {
      if (way.length > 1) await close(way.splice(-1));
      else if (root !== '/') throw outsideRootError(root, next.link ?? path);
      continue;
    }
    const here = way.at(-1) as OpenDirectory;
    const found = await openSubdirectory(root, here, next.name);
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
    if (target === undefined) throw outsideRootError(root, found.path);
    if (target.absolute) await close(way.splice(1));
    left.push(...target.components.toReversed());
  }
  return true;
};

const outsideRootError = (root: string, link: string): FleetError =>
  new FleetError('APPLY_FAILED', `${link} is a symbolic link that leads out of ${root}: not followed`);

const close = async (way: readonly OpenDirectory[]): Promise<void> => {
  for (const { handle } of way) await handle.close();
};

const asFolder = (root: string, { handle, path, trusted }: OpenDirectory): Folder => ({
  handle,
  at: (name) => inDirectory(handle, join(root, path), name),
  sync: () => handle.sync(),
  trusted,
  [Symbol.asyncDispose]: () => handle.close(),
});
