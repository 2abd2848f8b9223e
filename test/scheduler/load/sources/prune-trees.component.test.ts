import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../../scheduler/model/limits.ts';
import { dropOvergrown } from '../../../../scheduler/load/sources/check-blobs.ts';
import { pruneTrees, touchTree } from '../../../../scheduler/load/sources/prune-trees.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';

const HOUR_S = 3600;

it('keeps the four trees of a folder that were used last, and those that may be in use', async () => {
  const trees = await temporaryDirectory();
  const now = Date.now() / 1000;
  const make = (name: string, hours: number): void => {
    mkdirSync(join(trees, name));
    utimesSync(join(trees, name), now, now - hours * HOUR_S);
  };
  for (const hours of [2, 3, 4, 5, 6, 7]) make(`repo-${hours}-app`, hours);
  make('repo-9-other', 9);
  await touchTree(join(trees, 'repo-7-app'));
  await pruneTrees(trees, (name) => name.endsWith('-app'));
  expect(readdirSync(trees).toSorted()).toEqual([
    'repo-2-app',
    'repo-3-app',
    'repo-4-app',
    'repo-7-app',
    'repo-9-other',
  ]);
  for (const minute of [1, 2, 3, 4, 5]) make(`repo-new${minute}-app`, minute / 60);
  await pruneTrees(trees, (name) => name.endsWith('-app'));
  expect(readdirSync(trees).filter((name) => name.includes('new'))).toHaveLength(5);
});

it('begins the cached repository of a tenant anew once it is over its bound', async () => {
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
  await dropOvergrown(repository, bound(101));
  expect(readdirSync(cacheDirectory)).toEqual(['a.git']);
  await dropOvergrown(repository, bound(100));
  expect(readdirSync(cacheDirectory)).toEqual([]);
});
