import { randomUUID } from 'node:crypto';
import {
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { README, type Tree } from './render-tree.ts';
import { staleFiles } from './stale-files.ts';

export type TreeChanges = {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
};

/**
 * Makes a directory contain a tree. Each file is written under a temporary name and renamed, so that a reader never sees a
 * partial file; a file that already has its bytes is not touched. Then stale files are removed, but only below top folders
 * of the tree: those it has now, and those whose README.md marks them as a cluster type's. Everything else stays, .git and
 * .github/workflows included. The calls are synchronous: a tree has tens of thousands of small files, and dispatching each
 * call to another thread takes longer than the call.
 * @param isKept '<cluster type>/<target>': its files are never stale
 * @throws FleetError PERMISSION, DISK_FULL, IO
 */
export const writeTree = async (
  out: string,
  tree: Tree,
  isKept: (folder: string) => boolean = () => false,
): Promise<TreeChanges> => {
  try {
    await createDirectory(out);
    const found = listOwn(out, tree);
    refuseObstacles(out, tree, found);
    const written = writeFiles(out, tree, found);
    const removed = removeStale(out, tree, found, isKept);
    return { written, removed, unchanged: tree.size - written.length };
  } catch (error) {
    throw occupiedPath(error, out) ?? toFleetError(error, `writing ${out}`);
  }
};

/** The error for a file where a folder is needed, or a folder where a file is. */
const occupiedPath = (error: unknown, out: string): FleetError | undefined => {
  const errno = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!['ENOTDIR', 'EEXIST', 'EISDIR'].includes(errno)) return undefined;
  return new FleetError('IO', `writing ${out}: ${(error as Error).message}`, {
    cause: error,
    hint: 'Move the obstacle away, or write to another directory',
  });
};

/** The entries in the tree's top folders before writing, by path. */
type Found = Map<string, 'file' | 'folder' | 'link' | 'other'>;

const listOwn = (out: string, tree: Tree): Found => {
  const found: Found = new Map();
  const list = (folder: string): void => {
    for (const entry of readdirSync(join(out, folder), { withFileTypes: true }))
      add(`${folder}/${entry.name}`, entry);
  };
  const add = (path: string, entry: Dirent): void => {
    found.set(path, kindOf(entry));
    if (entry.isDirectory()) list(path);
  };
  const tops = new Set([...tree.keys()].map(topOf));
  for (const entry of readdirSync(out, { withFileTypes: true }))
    if (tops.has(entry.name) || (entry.isDirectory() && isMarked(out, entry.name))) add(entry.name, entry);
  return found;
};

const topOf = (path: string): string => path.split('/', 1)[0] as string;

const kindOf = (entry: Dirent): 'file' | 'folder' | 'link' | 'other' => {
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  return entry.isFile() ? 'file' : 'other';
};

/** Whether an earlier run wrote the top folder for a cluster type. */
const isMarked = (out: string, folder: string): boolean =>
  !folder.startsWith('.') && readIfThere(join(out, folder, 'README.md'))?.toString('utf8') === README;

const readIfThere = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
};

/** Runs before anything is written, so that a refused tree leaves the directory unchanged. */
const refuseObstacles = (out: string, tree: Tree, found: Found): void => {
  const folders = new Set([...tree.keys()].flatMap(foldersAbove));
  for (const folder of folders) {
    const kind = found.get(folder);
    if (kind === 'link') throw isLink(join(out, folder));
    if (kind !== undefined && kind !== 'folder')
      throw new FleetError('IO', `${join(out, folder)} cannot be a folder: a file is in the way`, {
        hint: 'Name another folder, or move the file',
      });
  }
  for (const path of tree.keys()) {
    const kind = found.get(path);
    if (kind === 'link') throw isLink(join(out, path));
    if (kind === 'folder')
      throw new FleetError('IO', `${join(out, path)} cannot be a file: a folder is in the way`, {
        hint: 'Move it, or write to another directory',
      });
  }
};

const foldersAbove = (path: string): readonly string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));

/** Writing through a link would put files outside of the directory. */
const isLink = (path: string): FleetError =>
  new FleetError('IO', `${path} is a link, and nothing is written through links`, { hint: 'Remove it' });

/** @returns the paths that were written */
const writeFiles = (out: string, tree: Tree, found: Found): readonly string[] => {
  const written: string[] = [];
  const name = `.${randomUUID()}.tmp`;
  const made = new Set<string>();
  const createFolder = (folder: string): void => {
    if (folder === '.' || made.has(folder)) return;
    createFolder(dirname(folder));
    if (!found.has(folder)) createOne(join(out, folder));
    made.add(folder);
  };
  for (const [path, bytes] of tree) {
    const target = join(out, path);
    if (found.get(path) === 'file' && readIfThere(target)?.equals(bytes)) continue;
    createFolder(dirname(path));
    const draft = join(dirname(target), name);
    try {
      writeFileSync(draft, bytes, { flag: 'wx', mode: 0o644 });
      renameSync(draft, target);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    written.push(path);
  }
  return written;
};

/** Creates one folder; another run may create it at the same time. */
const createOne = (path: string): void => {
  try {
    mkdirSync(path);
  } catch (error) {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
};

const removeStale = (
  out: string,
  tree: Tree,
  found: Found,
  isKept: (folder: string) => boolean,
): readonly string[] => {
  const paths = [...found].filter(([, kind]) => kind !== 'folder').map(([path]) => path);
  const stale = staleFiles(paths, { tree, isKept, isOurs: () => true });
  for (const path of stale) {
    unlinkSync(join(out, path));
    // Removes folders that are now empty: neither Git nor the tree has empty folders.
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      if (readdirSync(join(out, folder)).length > 0) break;
      rmdirSync(join(out, folder));
    }
  }
  return stale.toSorted();
};
