import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOfFiles } from '../../../../scheduler/assemble/kept/program-digest.ts';
import { temporaryDirectory } from '../../file-tree.ts';

const MINUTE_MS = 60_000;

const install = async (): Promise<string> => {
  const root = await temporaryDirectory();
  await mkdir(join(root, 'scheduler'));
  await writeFile(join(root, 'main.cjs'), 'old');
  await writeFile(join(root, 'scheduler/schema.json'), '{}');
  return root;
};

test('the digest of a program is that of its files', async () => {
  const [root, startedAt] = [await install(), Date.now() + MINUTE_MS];
  const before = digestOfFiles(root, startedAt);
  expect(before).toMatch(/^sha256:/);
  expect(digestOfFiles(root, startedAt)).toBe(before);
  await writeFile(join(root, 'scheduler/schema.json'), '[]');
  expect(digestOfFiles(root, startedAt)).not.toBe(before);
});

test('a program whose files were replaced after its start has none, also with the times of the old files', async () => {
  const root = await install();
  const startedAt = Date.now() - MINUTE_MS;
  const long = new Date(startedAt - MINUTE_MS);
  await writeFile(join(root, 'main.cjs.dpkg-new'), 'new');
  await utimes(join(root, 'main.cjs.dpkg-new'), long, long);
  await rename(join(root, 'main.cjs.dpkg-new'), join(root, 'main.cjs'));
  expect(digestOfFiles(root, startedAt)).toBeUndefined();
});

test('a program whose files are missing has none', async () => {
  const root = await install();
  await rm(root, { recursive: true });
  expect(digestOfFiles(root, Date.now() + MINUTE_MS)).toBeUndefined();
});
