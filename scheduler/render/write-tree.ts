import { randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { README, type Tree } from './render-tree.ts';

export type TreeChanges = {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
};

/**
 * Makes a directory hold a tree. Each file is written beside its place and renamed into it; one that has its bytes
 * already is left alone. Afterwards stale files go, but only in folders that are the tree's: those it has now, and those
 * whose README.md says they were a cluster type's. Everything else, .git and .github/workflows with it, is not touched.
 * @param isKept '<cluster type>/<target>': what is in it stays
 * @throws FleetError PERMISSION, DISK_FULL, IO
 */
export const writeTree = async (
  out: string,
  tree: Tree,
  isKept: (folder: string) => boolean = () => false,
): Promise<TreeChanges> => {
  try {
    await makeDirectory(out);
    const written: string[] = [];
    for (const [path, bytes] of tree) if (await writeOne(out, path, bytes)) written.push(path);
    const removed: string[] = [];
    for (const folder of await ownFolders(out, tree)) await removeStale(out, folder, tree, isKept, removed);
    return { written, removed: removed.toSorted(), unchanged: tree.size - written.length };
  } catch (error) {
    throw inTheWay(error, out) ?? toFleetError(error, `writing ${out}`);
  }
};

/** A file where a folder has to be, or the other way round. */
const inTheWay = (error: unknown, out: string): FleetError | undefined => {
  const errno = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!['ENOTDIR', 'EEXIST', 'EISDIR'].includes(errno)) return undefined;
  return new FleetError('IO', `writing ${out}: ${(error as Error).message}`, {
    cause: error,
    hint: 'Move what is in the way, or write to another directory',
  });
};

/** @returns whether anything had to be written */
const writeOne = async (out: string, path: string, bytes: Buffer): Promise<boolean> => {
  await refuseLinks(out, path);
  const target = join(out, path);
  const old = await readFile(target).catch(() => undefined);
  if (old?.equals(bytes)) return false;
  await makeDirectory(dirname(target));
  const draft = join(dirname(target), `.${randomUUID()}.tmp`);
  try {
    await writeFile(draft, bytes, { flag: 'wx', mode: 0o644 });
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  return true;
};

/** A link on the way would let the tree be written somewhere else. */
const refuseLinks = async (out: string, path: string): Promise<void> => {
  const names = path.split('/');
  for (const end of names.keys()) {
    const part = join(out, ...names.slice(0, end + 1));
    const found = await lstat(part).catch(() => undefined);
    if (found?.isSymbolicLink())
      throw new FleetError('IO', `${part} is a link, and nothing is written through links`, {
        hint: 'Remove it',
      });
  }
};

/** Top folders that are the tree's own, now or from an earlier run. A name that begins with a dot never is. */
const ownFolders = async (out: string, tree: Tree): Promise<readonly string[]> => {
  const current = new Set([...tree.keys()].map((path) => path.split('/')[0] as string));
  const own: string[] = [];
  for (const entry of await readdir(out, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    const readme = current.has(entry.name)
      ? README
      : await readFile(join(out, entry.name, 'README.md'), 'utf8').catch(() => '');
    if (readme === README) own.push(entry.name);
  }
  return own;
};

const removeStale = async (
  out: string,
  folder: string,
  tree: Tree,
  isKept: (folder: string) => boolean,
  removed: string[],
): Promise<void> => {
  if (isKept(folder)) return;
  for (const entry of await readdir(join(out, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) await removeStale(out, path, tree, isKept, removed);
    else if (!tree.has(path)) {
      await rm(join(out, path));
      removed.push(path);
    }
  }
  // Git has no empty folders, and neither has the tree.
  const left = await readdir(join(out, folder));
  if (left.length === 0) await rmdir(join(out, folder));
};
