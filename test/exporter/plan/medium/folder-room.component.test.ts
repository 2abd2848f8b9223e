import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entriesOf } from '../../../../exporter/plan/medium/folder-entries.ts';
import { lackOfEntries } from '../../../../exporter/plan/medium/folder-room.ts';
import { temporaryDirectory } from '../../../scheduler/file-tree.ts';

const onFat = async (): Promise<boolean> => true;
const blobs = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, at) => `blobs/sha256/${String(from + at).padStart(64, '0')}`);

test.each([
  ['a'.repeat(64), 6],
  ['.tmp-01234567', 2],
  [`${'a'.repeat(32)}.001`, 4],
  ['medium.json', 2],
])('%s takes %i directory entries of FAT', (name, count) => {
  expect(entriesOf(name)).toBe(count);
});

test('a FAT folder takes 10,919 blobs beside the temporary files of a run', async () => {
  const root = await temporaryDirectory();
  expect(await lackOfEntries(root, blobs(0, 10_919), onFat)).toBeUndefined();
  expect(await lackOfEntries(root, blobs(0, 10_920), onFat)).toBe(
    `${join(root, 'blobs/sha256')} has no room for 10920 files: FAT keeps 65536 entries in a folder, and 65538 are needed`,
  );
  expect(await lackOfEntries(root, blobs(0, 20_000), async () => false)).toBeUndefined();
  expect(await lackOfEntries(root, blobs(0, 20_000))).toBeUndefined();
});

test('files of the former medium count until they are removed, and files of both media once', async () => {
  const root = await temporaryDirectory();
  await mkdir(join(root, 'blobs/sha256'), { recursive: true });
  for (const path of blobs(0, 4)) await writeFile(join(root, path), '');
  expect(await lackOfEntries(root, blobs(2, 10_919), onFat)).toBeUndefined();
  expect(await lackOfEntries(root, blobs(4, 10_921), onFat)).toContain('has no room for 10921 files');
});
