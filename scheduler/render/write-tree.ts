import { randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { README, type Tree } from './render-tree.ts';
import { staleFiles } from './stale-files.ts';

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
    await refuseObstacles(out, tree);
    const written: string[] = [];
    for (const [path, bytes] of tree) if (await writeOne(out, path, bytes)) written.push(path);
    const removed = await removeStale(out, tree, isKept);
    return { written, removed, unchanged: tree.size - written.length };
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

/** Looked at before the first byte is written: what is refused leaves the directory as it was, not half of each. */
const refuseObstacles = async (out: string, tree: Tree): Promise<void> => {
  const folders = new Set([...tree.keys()].flatMap(foldersAbove));
  for (const folder of folders) {
    const path = join(out, folder);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink()) throw isLink(path);
    if (found && !found.isDirectory())
      throw new FleetError('IO', `${path} cannot be a folder: a file is in the way`, {
        hint: 'Name another folder, or move the file',
      });
  }
  for (const name of tree.keys()) {
    const path = join(out, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink()) throw isLink(path);
    if (found?.isDirectory())
      throw new FleetError('IO', `${path} cannot be a file: a folder is in the way`, {
        hint: 'Move it, or write to another directory',
      });
  }
};

const foldersAbove = (path: string): readonly string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));

/** A link on the way would let the tree be written somewhere else. */
const isLink = (path: string): FleetError =>
  new FleetError('IO', `${path} is a link, and nothing is written through links`, { hint: 'Remove it' });

/** Every file in top folders that are the tree's own, now or from an earlier run, with the README.md that tells. */
const filesBelow = async (out: string, folder: string): Promise<readonly string[]> => {
  const entries = await readdir(join(out, folder), { withFileTypes: true });
  const below = await Promise.all(
    entries.map(async (entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (folder === '' && (entry.name.startsWith('.') || !entry.isDirectory())) return [];
      return entry.isDirectory() ? await filesBelow(out, path) : [path];
    }),
  );
  return below.flat();
};

const removeStale = async (
  out: string,
  tree: Tree,
  isKept: (folder: string) => boolean,
): Promise<readonly string[]> => {
  const paths = await filesBelow(out, '');
  const readmes = paths.filter((path) => /^[^/]+\/README\.md$/.test(path));
  const texts = await Promise.all(
    readmes.map((path) => readFile(join(out, path), 'utf8').catch(() => undefined)),
  );
  const ours = new Set(readmes.filter((_, at) => texts[at] === README));
  const stale = staleFiles(paths, { tree, isKept, isOurs: (readme) => ours.has(readme) });
  for (const path of stale) {
    await rm(join(out, path));
    // Git has no empty folders, and neither has the tree.
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      if ((await readdir(join(out, folder))).length > 0) break;
      await rmdir(join(out, folder));
    }
  }
  return stale.toSorted();
};
