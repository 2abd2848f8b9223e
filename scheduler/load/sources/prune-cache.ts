import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DAY_MS, HOUR_MS } from '#bundles/time';
import { removeUnused } from './cache-use.ts';
import { checkCache } from './check-cache.ts';
import { type GitRepository, tryDropStaleRepository } from './git-cache.ts';

/** How long an entry stays in the cache after a run used it last. All can be fetched again. */
const UNUSED_MS = 30 * DAY_MS;
/** Number of most recently used trees to keep for one folder of a repository. */
const KEPT = 4;
/** A tree used within this time may still be read by a run. */
const IN_USE_MS = HOUR_MS;

const TREES = 'trees';
/** Says which trees a commit has (commit-trees.ts). */
const COMMITS = 'commits';
/** Bundles that earlier runs built (scheduler/assemble/kept). */
export const KEPT_RESULTS = 'results';

/** Fetched files, interrupted downloads, charts, trees, and what a killed process left while it pushed to a repository. */
const FOLDERS = [
  'content/blobs/sha256',
  'content/partial',
  'charts',
  TREES,
  COMMITS,
  KEPT_RESULTS,
  'publish',
];

/** A repository that a killed process was creating. */
const DRAFT = /\.git\.[0-9a-f-]{36}$/;

/**
 * Deletes what no run has used for 30 days, and repositories whose first fetch is that long ago. Other runs may use the cache
 * meanwhile. An entry that cannot be deleted stays until the next call; no error is thrown for it. Nothing is deleted in a cache that every user
 * can write to: another user may have put a link in the place of a folder, and files outside of the cache would be deleted.
 * @param now the machine's clock, which also gives files their times
 */
export const pruneCache = async (cacheDirectory: string, now: Date): Promise<void> => {
  if (await isWritableByAll(cacheDirectory)) return;
  const remove = (path: string): Promise<void> =>
    removeUnused(cacheDirectory, join(cacheDirectory, path), { now, unusedMs: UNUSED_MS });
  for (const folder of FOLDERS)
    for (const name of await namesIn(join(cacheDirectory, folder))) await remove(join(folder, name));
  for (const name of await namesIn(cacheDirectory)) {
    if (DRAFT.test(name)) await remove(name);
    else if (name.endsWith('.git'))
      await tryDropStaleRepository(join(cacheDirectory, name), now).catch(() => undefined);
  }
};

const isWritableByAll = (cacheDirectory: string): Promise<boolean> =>
  checkCache(cacheDirectory).then(
    () => false,
    () => true,
  );

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/**
 * The names in a folder of a cache that begin with a key and '-'. A run lists each folder once, and adds the names that it writes, because
 * listing it for each repository and bundle would take time quadratic in their number.
 */
export type CacheEntries = (folder: string, key: string) => Promise<Set<string>>;

export const openEntries = (cacheDirectory: string): CacheEntries => {
  const folders = new Map<string, Promise<Map<string, Set<string>>>>();
  return async (folder, key) => {
    const listed = folders.get(folder) ?? entriesByKey(join(cacheDirectory, folder));
    folders.set(folder, listed);
    const byKey = await listed;
    const names = byKey.get(key) ?? new Set();
    byKey.set(key, names);
    return names;
  };
};

const entriesByKey = async (folder: string): Promise<Map<string, Set<string>>> => {
  const byKey = Map.groupBy(await namesIn(folder), (name) => name.slice(0, name.indexOf('-')));
  return new Map([...byKey].map(([key, names]) => [key, new Set(names)]));
};

/** A commit of a repository whose trees a run added to the cache. */
export type AddedTrees = {
  readonly commit: string;
  /** Names of its trees. */
  readonly trees: readonly string[];
};

/** Deletes the least recently used trees of the folders of added ones, and the lists of trees of commits. All can be created again. */
export const pruneTrees = async (
  { gitDirectory, cacheDirectory }: GitRepository,
  entries: CacheEntries,
  { commit, trees: added }: AddedTrees,
): Promise<void> => {
  const key = basename(gitDirectory, '.git');
  const commits = await entries(COMMITS, key);
  commits.add(`${key}-${commit}`);
  await keepNewest(cacheDirectory, COMMITS, commits);
  const trees = await entries(TREES, key);
  for (const tree of added) trees.add(tree);
  const folderOf = (tree: string): string => tree.slice(tree.lastIndexOf('-') + 1);
  const folders = new Set(added.map(folderOf));
  for (const [folder, names] of Map.groupBy(trees, folderOf))
    if (folders.has(folder)) await keepNewest(cacheDirectory, TREES, new Set(names));
};

/** Deletes the least recently used results whose names begin with the key of an added one. */
export const pruneResults = async (
  cacheDirectory: string,
  entries: CacheEntries,
  added: string,
): Promise<void> => {
  const results = await entries(KEPT_RESULTS, added.slice(0, added.indexOf('-')));
  results.add(added);
  await keepNewest(cacheDirectory, KEPT_RESULTS, results);
};

const keepNewest = async (
  cacheDirectory: string,
  folder: string,
  names: ReadonlySet<string>,
): Promise<void> => {
  if (names.size <= KEPT) return;
  const found = await Promise.all(
    [...names].map(async (name) => {
      const entry = join(cacheDirectory, folder, name);
      return { entry, used: (await stat(entry).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  for (const { entry } of found.toSorted((a, b) => b.used - a.used).slice(KEPT))
    await removeUnused(cacheDirectory, entry, { now: new Date(), unusedMs: IN_USE_MS });
};
