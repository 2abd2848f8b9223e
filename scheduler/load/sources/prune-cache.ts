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

/** Deletes the least recently used trees of folders, and what says which trees a commit has. All can be created again. */
export const pruneTrees = async (
  { gitDirectory, cacheDirectory }: GitRepository,
  folders: ReadonlySet<string>,
): Promise<void> => {
  const own = `${basename(gitDirectory, '.git')}-`;
  await keepNewest(cacheDirectory, await entriesWith(cacheDirectory, COMMITS, own));
  const trees = await entriesWith(cacheDirectory, TREES, own);
  for (const [folder, entries] of Map.groupBy(trees, (entry) => entry.slice(entry.lastIndexOf('-') + 1)))
    if (folders.has(folder)) await keepNewest(cacheDirectory, entries);
};

/** Deletes the least recently used results whose names begin with `key`. */
export const pruneResults = async (cacheDirectory: string, key: string): Promise<void> =>
  keepNewest(cacheDirectory, await entriesWith(cacheDirectory, KEPT_RESULTS, `${key}-`));

const entriesWith = async (cacheDirectory: string, folder: string, prefix: string): Promise<string[]> =>
  (await namesIn(join(cacheDirectory, folder)))
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(folder, name));

const keepNewest = async (cacheDirectory: string, entries: readonly string[]): Promise<void> => {
  if (entries.length <= KEPT) return;
  const found = await Promise.all(
    entries.map(async (name) => {
      const entry = join(cacheDirectory, name);
      return { entry, used: (await stat(entry).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  for (const { entry } of found.toSorted((a, b) => b.used - a.used).slice(KEPT))
    await removeUnused(cacheDirectory, entry, { now: new Date(), unusedMs: IN_USE_MS });
};
