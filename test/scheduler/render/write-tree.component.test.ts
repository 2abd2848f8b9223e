import { mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { README, type Tree } from '../../../scheduler/render/render-tree.ts';
import { writeTree } from '../../../scheduler/render/write-tree.ts';
import { readTree, temporaryDirectory, writeFiles } from '../file-tree.ts';

const tree = (files: Record<string, string>): Tree =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

test('writeTree into a new directory writes exactly the tree', async () => {
  const out = join(await temporaryDirectory(), 'deep/out');
  const files = {
    '.github/tracking/Promoted_Commit_Id': 'c',
    'edge/README.md': README,
    'edge/shop-web/x.yaml': 'x',
  };
  expect(await writeTree(out, tree(files))).toEqual({
    written: Object.keys(files),
    removed: [],
    unchanged: 0,
  });
  expect(await readTree(out)).toEqual(files);
});

test('writeTree of the same tree again touches no file', async () => {
  const out = await temporaryDirectory();
  const files = tree({ 'edge/README.md': README, 'edge/a/x.yaml': 'x' });
  await writeTree(out, files);
  const before = await stat(join(out, 'edge/a/x.yaml'));
  expect(await writeTree(out, files)).toEqual({ written: [], removed: [], unchanged: 2 });
  const after = await stat(join(out, 'edge/a/x.yaml'));
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});

test('writeTree removes stale files from folders of the tree only', async () => {
  const out = await temporaryDirectory();
  await writeFiles(out, {
    '.git/HEAD': 'ref',
    '.github/workflows/check-promote.yaml': 'by hand',
    'README.md': 'by hand',
    'docs/README.md': 'by hand',
    'gone-type/README.md': README,
    'gone-type/shop-web/x.yaml': 'stale',
    'edge/README.md': README,
    'edge/shop-web/platform-config.yaml': 'stale',
    'edge/shop-web/x.yaml': 'old',
    'edge/gone-target/x.yaml': 'stale',
  });
  const changes = await writeTree(out, tree({ 'edge/README.md': README, 'edge/shop-web/x.yaml': 'new' }));
  expect(changes).toEqual({
    written: ['edge/shop-web/x.yaml'],
    removed: [
      'edge/gone-target/x.yaml',
      'edge/shop-web/platform-config.yaml',
      'gone-type/README.md',
      'gone-type/shop-web/x.yaml',
    ],
    unchanged: 1,
  });
  expect(await readTree(out)).toEqual({
    '.git/HEAD': 'ref',
    '.github/workflows/check-promote.yaml': 'by hand',
    'README.md': 'by hand',
    'docs/README.md': 'by hand',
    'edge/README.md': README,
    'edge/shop-web/x.yaml': 'new',
  });
  expect((await readdir(out)).toSorted()).toEqual(['.git', '.github', 'README.md', 'docs', 'edge']);
});

test('writeTree writes nothing through a symbolic link', async () => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'elsewhere'));
  await mkdir(join(directory, 'out'));
  await symlink(join(directory, 'elsewhere'), join(directory, 'out/edge'));
  await expect(writeTree(join(directory, 'out'), tree({ 'edge/README.md': README }))).rejects.toMatchObject({
    code: 'IO',
  });
  expect(await readdir(join(directory, 'elsewhere'))).toEqual([]);
});

test('writeTree keeps the folders of held assignments', async () => {
  const out = await temporaryDirectory();
  await writeTree(out, tree({ 'edge/README.md': README, 'edge/a/x.yaml': 'a', 'edge/b/x.yaml': 'b' }));
  const changes = await writeTree(out, tree({ 'edge/README.md': README }), (folder) => folder === 'edge/a');
  expect(changes.removed).toEqual(['edge/b/x.yaml']);
  expect(await readdir(join(out, 'edge'))).toEqual(['README.md', 'a']);
});

test('writeTree reports a file in the place of a folder, before it writes anything', async () => {
  const out = await temporaryDirectory();
  await writeFiles(out, { edge: 'a file' });
  await expect(writeTree(out, tree({ 'edge/README.md': README }))).rejects.toMatchObject({
    code: 'IO',
    message: expect.stringMatching(/edge cannot be a folder/),
  });
  // Before anything is written: not half of the tree in front of it.
  await expect(
    writeTree(out, tree({ 'cloud/README.md': README, 'edge/README.md': README })),
  ).rejects.toMatchObject({ code: 'IO' });
  expect(await readdir(out)).toEqual(['edge']);
  await mkdir(join(out, 'cloud/README.md'), { recursive: true });
  await expect(writeTree(out, tree({ 'cloud/README.md': README }))).rejects.toMatchObject({
    code: 'IO',
    message: expect.stringMatching(/cloud\/README\.md cannot be a file: a folder is in the way/),
  });
});
