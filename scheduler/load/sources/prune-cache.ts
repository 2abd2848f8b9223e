import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS, HOUR_MS } from '#bundles/time';
import { exists, removeUnused } from './cache-use.ts';
import { tryDropWorn } from './git-cache.ts';

/** How long an entry stays in the cache after a run used it last. All can be fetched again. */
const UNUSED_MS = 30 * DAY_MS;
/** Number of most recently used trees to keep for one folder of a repository. */
const KEPT = 4;
/** A tree used within this time may still be read by a run. */
const IN_USE_MS = HOUR_MS;

const TREES = 'trees';
const SUBMODULES = '.submodules';

/** Fetched files, interrupted downloads, charts, trees, and what a killed process left while it pushed to a repository. */
const FOLDERS = ['content/blobs/sha256', 'content/partial', 'charts', TREES, 'publish'];

/** A repository that a killed process was creating. */
const DRAFT = /\.git\.[0-9a-f-]{36}$/;

/**
 * Deletes what no run has used for 30 days, and repositories whose first fetch is that long ago. Other runs may use the cache
 * meanwhile. An entry that cannot be deleted stays until the next call; no error is thrown for it.
 * @param now the machine's clock, which also gives files their times
 */
export const pruneCache = async (cacheDirectory: string, now: Date): Promise<void> => {
  const remove = (path: string): Promise<void> =>
    removeUnused(cacheDirectory, join(cacheDirectory, path), { now, unusedMs: UNUSED_MS });
  // A tree comes before the list of its submodules.
  for (const folder of FOLDERS)
    for (const name of (await namesIn(join(cacheDirectory, folder))).toSorted())
      if (!(await belongsToTree(cacheDirectory, folder, name))) await remove(join(folder, name));
  for (const name of await namesIn(cacheDirectory)) {
    if (DRAFT.test(name)) await remove(name);
    else if (name.endsWith('.git')) await tryDropWorn(join(cacheDirectory, name), now).catch(() => undefined);
  }
};

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

const belongsToTree = async (cacheDirectory: string, folder: string, name: string): Promise<boolean> =>
  folder === TREES &&
  name.endsWith(SUBMODULES) &&
  (await exists(join(cacheDirectory, folder, name.slice(0, -SUBMODULES.length))));

/** Deletes the least recently used trees of a folder. Each is as large as the folder, and can be created again. */
export const pruneTrees = async (
  cacheDirectory: string,
  isOfFolder: (name: string) => boolean,
): Promise<void> => {
  const trees = join(cacheDirectory, TREES);
  const names = (await namesIn(trees)).filter(isOfFolder);
  if (names.length <= KEPT) return;
  const found = await Promise.all(
    names.map(async (name) => ({
      tree: join(trees, name),
      used: (await stat(join(trees, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  const old = found.toSorted((a, b) => b.used - a.used).slice(KEPT);
  for (const { tree } of old) {
    await removeUnused(cacheDirectory, tree, { now: new Date(), unusedMs: IN_USE_MS });
    if (!(await exists(tree))) await rm(`${tree}${SUBMODULES}`, { force: true });
  }
};
