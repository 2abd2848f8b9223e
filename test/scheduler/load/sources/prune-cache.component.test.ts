import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '#bundles/time';
import { DEFAULT_LIMITS } from '../../../../scheduler/model/limits.ts';
import { dropOversized } from '../../../../scheduler/load/sources/check-blobs.ts';
import { markUsed, removeUnused } from '../../../../scheduler/load/sources/cache-use.ts';
import { openEntries, pruneCache, pruneTrees } from '../../../../scheduler/load/sources/prune-cache.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';

const NOW = new Date();
const before = (ms: number): Date => new Date(NOW.getTime() - ms);
const usedAt = (path: string, at: Date): void => utimesSync(path, at, at);

/** A cache with these files, all of which were used so many days ago. */
const cacheOf = async (days: number, paths: readonly string[]): Promise<string> => {
  const cache = await temporaryDirectory();
  await writeFiles(cache, Object.fromEntries(paths.map((path) => [path, 'content'])));
  for (const name of readdirSync(cache, { recursive: true, encoding: 'utf8' }))
    usedAt(join(cache, name), before(days * DAY_MS));
  return cache;
};

const left = (cache: string): readonly string[] =>
  readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'use.lock')
    .map((entry) => join(entry.parentPath, entry.name).slice(cache.length + 1))
    .toSorted();

const KINDS = [
  'a.git.0d9f4c1e-7a35-4ac5-9f5c-0c1a2b3c4d5e/HEAD',
  'charts/a.tgz',
  'commits/a-1',
  'content/blobs/sha256/a',
  'content/partial/a',
  'publish/a.git/HEAD',
  'trees/a-1-app/x.yaml',
];

it('pruneCache deletes what no run used for 30 days: downloads, charts, trees and temporary files', async () => {
  const cache = await cacheOf(31, KINDS);
  await pruneCache(cache, NOW);
  expect(left(cache)).toEqual([]);
});

it.each(['results', 'charts', 'content'])(
  'pruneCache deletes nothing behind a link in the place of %s that another user put into a cache of all users',
  async (folder) => {
    const cache = await cacheOf(31, []);
    const own = await cacheOf(31, ['notes', 'blobs/sha256/a']);
    symlinkSync(own, join(cache, folder));
    chmodSync(cache, 0o777);
    await pruneCache(cache, NOW);
    expect(left(own)).toEqual(['blobs/sha256/a', 'notes']);
  },
);

it('keeps files used within 30 days, and records each use', async () => {
  const young = await cacheOf(29, KINDS);
  await pruneCache(young, NOW);
  expect(left(young)).toEqual(KINDS);
  const cache = await cacheOf(31, ['content/blobs/sha256/a', 'content/blobs/sha256/b']);
  expect(await markUsed(cache, join(cache, 'content/blobs/sha256/a'))).toBe(true);
  expect(await markUsed(cache, join(cache, 'content/blobs/sha256/c'))).toBe(false);
  await pruneCache(cache, NOW);
  expect(left(cache)).toEqual(['content/blobs/sha256/a']);
});

it('pruneCache keeps a file that a concurrent run has just found', async () => {
  const names = Array.from({ length: 40 }, (_, at) => `charts/${at}`);
  const cache = await cacheOf(31, names);
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(cache, name);
      const removed = removeUnused(cache, path, { now: NOW, unusedMs: 30 * DAY_MS });
      const isFound = await markUsed(cache, path);
      const isThere = existsSync(path);
      await removed;
      return { isFound, isThere, isLeft: existsSync(path) };
    }),
  );
  expect(found.filter(({ isFound, isThere, isLeft }) => isFound !== isThere || isFound !== isLeft)).toEqual(
    [],
  );
});

it('pruneCache deletes a repository 30 days after its first fetch or with many packs, unless a delivery uses it', async () => {
  const old = ['HEAD', 'delivered', 'fetched', 'objects/pack/a.pack'].map((name) => `old.git/${name}`);
  const packs = Array.from({ length: 101 }, (_, at) => `worn.git/objects/pack/${at}.pack`);
  const cache = await cacheOf(31, [...old, 'old.git.known/main', ...packs, 'worn.git/HEAD']);
  usedAt(join(cache, 'worn.git/HEAD'), NOW);
  usedAt(join(cache, 'old.git/fetched'), NOW);
  usedAt(join(cache, 'old.git/delivered'), before(HOUR_MS / 10));
  await pruneCache(cache, NOW);
  const rest = ['old.git.known/main', 'old.git.lock', 'worn.git.lock'];
  expect(left(cache)).toEqual([...old, ...rest].toSorted());
  usedAt(join(cache, 'old.git/delivered'), before(HOUR_MS));
  await pruneCache(cache, NOW);
  expect(left(cache)).toEqual(rest);
});

it('pruneCache keeps the four most recently used trees of a folder, and recently used ones', async () => {
  const cache = await temporaryDirectory();
  const trees = join(cache, 'trees');
  const gitDirectory = join(cache, 'repo.git');
  const repository = { url: 'https://git.example/a', refs: new Map(), gitDirectory, cacheDirectory: cache };
  const make = (name: string, hours: number): void => {
    mkdirSync(join(trees, name), { recursive: true });
    usedAt(join(trees, name), before(hours * HOUR_MS));
  };
  for (const hours of [2, 3, 4, 5, 6, 7]) make(`repo-${hours}-app`, hours);
  make('repo-9-other', 9);
  make('other-9-app', 9);
  await markUsed(cache, join(trees, 'repo-7-app'));
  await pruneTrees(repository, openEntries(cache), { commit: '2', trees: ['repo-2-app'] });
  expect(readdirSync(trees).toSorted()).toEqual([
    'other-9-app',
    'repo-2-app',
    'repo-3-app',
    'repo-4-app',
    'repo-7-app',
    'repo-9-other',
  ]);
  for (const minute of [1, 2, 3, 4, 5]) make(`repo-new${minute}-app`, minute / 60);
  await pruneTrees(repository, openEntries(cache), { commit: '2', trees: ['repo-2-app'] });
  expect(readdirSync(trees).filter((name) => name.includes('new'))).toHaveLength(5);
});

it('a run that adds trees of many commits keeps four of each folder, without listing the cache for each', async () => {
  const cache = await temporaryDirectory();
  const trees = join(cache, 'trees');
  const gitDirectory = join(cache, 'repo.git');
  const repository = { url: 'https://git.example/a', refs: new Map(), gitDirectory, cacheDirectory: cache };
  const entries = openEntries(cache);
  for (let commit = 9; commit > 0; commit -= 1) {
    const tree = `repo-${commit}-app`;
    mkdirSync(join(trees, tree), { recursive: true });
    usedAt(join(trees, tree), before(commit * 2 * HOUR_MS));
    await pruneTrees(repository, entries, { commit: `${commit}`, trees: [tree] });
  }
  expect(readdirSync(trees).toSorted()).toEqual([1, 2, 3, 4].map((commit) => `repo-${commit}-app`));
});

it("a tenant's cached repository above its size limit is fetched again", async () => {
  const cacheDirectory = await temporaryDirectory();
  const gitDirectory = join(cacheDirectory, 'a.git');
  const repository = { url: 'https://git.example/a', refs: new Map(), gitDirectory, cacheDirectory };
  await writeFiles(gitDirectory, {
    'objects/pack/a.pack': 'x'.repeat(300),
    'objects/pack/b.pack': 'x'.repeat(101),
  });
  const bound = (assignmentBytes: number) => ({
    limits: { ...DEFAULT_LIMITS, assignmentBytes },
    workspace: 'sales',
    subject: 'shop-web',
  });
  await dropOversized(repository, bound(101));
  expect(readdirSync(cacheDirectory)).toEqual(['a.git']);
  await dropOversized(repository, bound(100));
  expect(readdirSync(cacheDirectory)).toEqual([]);
});
