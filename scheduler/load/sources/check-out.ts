import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import type { Bound } from '../../model/limits.ts';
import { exists, markUsed } from './cache-use.ts';
import { checkSizes, dropOversized, fetchMissing } from './check-blobs.ts';
import { type CommitTrees, type FolderTree, readCommitTrees, writeCommitTrees } from './commit-trees.ts';
import {
  dropStaleRepository,
  fetchCommit,
  type GitRepository,
  keep,
  prepare,
  unreachable,
  withCache,
} from './git-cache.ts';
import {
  blobsOf,
  entriesAt,
  type Listing,
  listCommit,
  rulesAbove,
  type TreeEntry,
  treeName,
} from './list-commit.ts';
import { type CacheEntries, pruneTrees } from './prune-cache.ts';
import { type Git, runGit, withRemote } from './run-git.ts';

export type Wanted = {
  /** A folder or file of the repository, or '.'. */
  readonly path: string;
  /** Limits, for a tenant's files. */
  readonly bound: Bound | undefined;
};

export type CheckedOut = {
  /** Root of a work tree that has this folder, and the .sourceignore files above it. */
  readonly root: string;
  /** Submodules in the folder. They stay empty, because the platform does not name their repositories. */
  readonly submodules: readonly string[];
};

/**
 * Checks out folders of one commit. They are fetched shallow, together, without the contents of other folders, and cached by
 * the identity of their tree: a second run needs no network, and a commit costs the folders that it changed.
 * @returns for each folder the checkout, or the error that concerns it: SOURCE_UNREACHABLE, SOURCE_MISSING, WORKSPACE_LIMIT
 */
export const checkOut = async (
  { git: plain, repository, commit, entries }: Source,
  wanted: readonly Wanted[],
): Promise<readonly (CheckedOut | FleetError)[]> => {
  const known = await findTrees(repository, await readCommitTrees(repository, commit), wanted);
  if (wanted.every(({ path }) => known.has(path))) return wanted.map(({ path }) => toResult(known.get(path)));
  const git = withRemote(plain, repository.url);
  try {
    return await withCache(git, repository, async () => {
      const trees = await readCommitTrees(repository, commit);
      const found = await findTrees(repository, trees, wanted);
      const missing = wanted.filter(({ path }) => !found.has(path));
      const made = await addTrees({ git, repository, commit, entries }, trees, missing);
      return wanted.map(({ path }) => toResult(found.get(path) ?? made.get(path)));
    });
  } catch (error) {
    const failed = toFleetError(error, `reading ${basename(repository.gitDirectory)}`);
    return wanted.map(({ path }) => known.get(path) ?? failed);
  }
};

type Results = ReadonlyMap<string, CheckedOut | FleetError>;

const toResult = (result: CheckedOut | FleetError | undefined): CheckedOut | FleetError => {
  if (!result) throw new Error('a folder was neither checked out nor refused');
  return result;
};

/** The folders whose trees are in the cache. */
const findTrees = async (
  { cacheDirectory }: GitRepository,
  trees: CommitTrees,
  wanted: readonly Wanted[],
): Promise<ReadonlyMap<string, CheckedOut>> => {
  const found = new Map<string, CheckedOut>();
  for (const { path } of wanted) {
    const tree = trees[path];
    if (!tree) continue;
    const root = join(cacheDirectory, 'trees', tree.name);
    if (await markUsed(cacheDirectory, root)) found.set(path, { root, submodules: tree.submodules });
  }
  return found;
};

/** Needs the lock of withCache. */
const addTrees = async (source: Source, trees: CommitTrees, wanted: readonly Wanted[]): Promise<Results> => {
  if (wanted.length === 0) return new Map();
  const { git, repository, commit } = source;
  const { cacheDirectory } = repository;
  for (const { bound } of wanted) if (bound) await dropOversized(repository, bound);
  await dropStaleRepository(repository.gitDirectory, new Date());
  await prepare(git, repository);
  await fetchCommit(git, repository, commit);
  const listing = await listCommit(git, repository, commit);
  const folders = new Map<string, Folder>();
  for (const { path, bound } of wanted)
    folders.set(path, toFolder(repository, commit, listing, { path, bound }));
  const absent: Folder[] = [];
  for (const folder of folders.values())
    if (!(await markUsed(cacheDirectory, folder.root))) absent.push(folder);
  const refused = await populate(source, absent);
  const results = new Map<string, CheckedOut | FleetError>();
  const added: Record<string, FolderTree> = {};
  for (const [path, { root, submodules }] of folders) {
    const error = refused.get(path);
    results.set(path, error ?? { root, submodules });
    if (!error) added[path] = { name: basename(root), submodules };
  }
  await writeCommitTrees(repository, commit, { ...trees, ...added });
  const names = [...folders.values()].map(({ root }) => basename(root));
  await pruneTrees(repository, source.entries, { commit, trees: names });
  return results;
};

/** One wanted folder of a commit. */
type Folder = Wanted & {
  /** Its place in the cache. */
  readonly root: string;
  readonly entries: readonly TreeEntry[];
  /** The .sourceignore files of the folders above it, which apply to it too. */
  readonly rules: readonly TreeEntry[];
  readonly submodules: readonly string[];
};

const toFolder = (
  { gitDirectory, cacheDirectory }: GitRepository,
  commit: string,
  listing: Listing,
  wanted: Wanted,
): Folder => {
  const inside = entriesAt(listing, wanted.path);
  const rules = rulesAbove(listing, wanted.path);
  const name = treeName(gitDirectory, { commit, path: wanted.path, entries: inside, rules });
  return {
    ...wanted,
    root: join(cacheDirectory, 'trees', name),
    entries: inside,
    rules,
    submodules: inside.filter(({ mode }) => mode === '160000').map(({ path }) => path),
  };
};

/** A commit that folders are checked out of. */
export type Source = {
  readonly git: Git;
  readonly repository: GitRepository;
  readonly commit: string;
  /** Of the repository's cache. */
  readonly entries: CacheEntries;
};

/**
 * Fetches and writes folders together. Where that fails, each is tried alone, so that one holds no other.
 * @returns the error of each folder that could not be checked out
 */
const populate = async (
  source: Source,
  folders: readonly Folder[],
): Promise<ReadonlyMap<string, FleetError>> => {
  const refused = new Map<string, FleetError>();
  for (const group of groupsOf(folders)) {
    const error = await tryTogether(source, group, refused);
    if (!error) continue;
    const isEveryones = group.length === 1 || ['ABORTED', 'DISK_FULL', 'TOOL_MISSING'].includes(error.code);
    for (const folder of group) {
      const own = isEveryones ? error : await tryTogether(source, [folder], refused);
      if (own) refused.set(folder.path, own);
    }
  }
  return refused;
};

/** No group has two folders that overlap, nor a tenant's folder beside one without limits. */
const groupsOf = (folders: readonly Folder[]): readonly (readonly Folder[])[] => {
  const groups: Group[] = [];
  for (const folder of folders) {
    const above = foldersAbove(folder.path);
    const fits = groups.find(
      (group) =>
        group.isBound === Boolean(folder.bound) &&
        !group.above.has(folder.path) &&
        !above.some((path) => group.paths.has(path)),
    );
    const group = fits ?? { isBound: Boolean(folder.bound), folders: [], paths: new Set(), above: new Set() };
    if (!fits) groups.push(group);
    group.folders.push(folder);
    group.paths.add(folder.path);
    for (const path of above) group.above.add(path);
  }
  return groups.map((group) => group.folders);
};

type Group = {
  readonly isBound: boolean;
  readonly folders: Folder[];
  readonly paths: Set<string>;
  /** Its paths, and all folders above them. */
  readonly above: Set<string>;
};

/** All folders above a path, and the path: '.', 'a', 'a/b'. */
const foldersAbove = (path: string): readonly string[] => {
  if (path === '.') return [path];
  const names = path.split('/');
  return ['.', ...names.map((_, end) => names.slice(0, end + 1).join('/'))];
};

const tryTogether = async (
  source: Source,
  group: readonly Folder[],
  refused: Map<string, FleetError>,
): Promise<FleetError | undefined> => {
  const { git, repository, commit } = source;
  try {
    await fetchMissing(git, repository, commit, group.flatMap(blobsOf), widest(group));
    const sizes = await checkSizes(git, repository, group);
    for (const [path, error] of sizes) refused.set(path, error);
    await write(
      source,
      group.filter(({ path }) => !sizes.has(path)),
    );
    return undefined;
  } catch (error) {
    return toFleetError(error, `reading ${commit}`);
  }
};

/** The limit for a pack of all folders is that of the largest alone: what exceeds it is fetched folder by folder. */
const widest = (group: readonly Folder[]): Bound | undefined =>
  group
    .flatMap(({ bound }) => (bound ? [bound] : []))
    .toSorted((a, b) => b.limits.assignmentBytes - a.limits.assignmentBytes)[0];

/** Writes folders that do not overlap, each into its place in the cache. */
const write = async (source: Source, folders: readonly Folder[]): Promise<void> => {
  const draft = join(source.repository.cacheDirectory, 'trees', `.draft-${randomUUID()}`);
  await createDirectory(draft);
  try {
    const all = join(draft, 'all');
    await mkdir(all);
    await writeFiles(source, folders, all);
    // A rules file can be wanted by many folders, and be a wanted file itself: the copies come before anything is moved.
    for (const [at, { rules, path }] of folders.entries()) {
      if (path === '.') continue;
      const own = join(draft, `${at}`);
      await mkdir(dirname(join(own, path)), { recursive: true });
      for (const rule of rules) await copyFile(join(all, rule.path), join(own, rule.path));
    }
    for (const [at, { root, path, entries }] of folders.entries()) {
      const own = join(draft, `${at}`);
      if (path === '.') await rename(all, own);
      else if (entries.length > 0) await rename(join(all, path), join(own, path));
      await keep(own, root);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

const writeFiles = async (
  { git, repository, commit }: Source,
  folders: readonly Folder[],
  to: string,
): Promise<void> => {
  const paths = new Set(
    folders.flatMap(({ path, entries, rules }) => [
      ...(entries.length > 0 ? [path] : []),
      ...rules.map((rule) => rule.path),
    ]),
  );
  if (paths.size === 0) return;
  const scopes = [...paths].map((path) => (path === '.' ? ':(top)' : `:(top,literal)${path}`));
  const at = ['--git-dir', repository.gitDirectory, '--work-tree', to];
  const command = ['checkout', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul', commit, '--'];
  const taken = await runGit(
    { ...git, env: { ...git.env, GIT_INDEX_FILE: `${to}.index` } },
    [...at, ...command],
    { input: [Buffer.from(scopes.join('\0'))] },
  );
  if (taken.code !== 0) throw unreachable(repository.url, taken.lastLine);
  // Links are not followed (read-files.ts). Checking out without symlinks leaves text files in their place; each becomes a link to
  // itself, which nothing can follow and which is reported.
  for (const { mode, path } of folders.flatMap(({ entries, rules }) => [...entries, ...rules])) {
    const file = join(to, path);
    if (mode !== '120000' || !(await exists(file))) continue;
    await rm(file);
    await symlink(basename(path), file);
  }
};
