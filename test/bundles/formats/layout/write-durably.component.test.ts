import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeDurably } from '#bundles/formats/layout/write-behind';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const MB = 1 << 20;

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at++) yield Buffer.alloc(MB, at + 1);
}

const isWhole = async (path: string, count: number): Promise<boolean> => {
  const bytes = await readFile(path);
  const piecesOf = Array.from({ length: count }, (_, at) => bytes.subarray(at * MB, (at + 1) * MB));
  return bytes.length === count * MB && piecesOf.every((piece, at) => piece.every((byte) => byte === at + 1));
};

/** A file whose syncs during the writing do this. */
const withDatasync = (file: FileHandle, datasync: () => Promise<void>): FileHandle =>
  Object.create(file, { datasync: { value: datasync } }) as FileHandle;

test('a large file is written whole, and begins to go to the disk before its end', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'large');
  await using file = await open(path, 'wx');
  let syncs = 0;
  const counted = withDatasync(file, async () => {
    syncs += 1;
    await file.datasync();
  });
  await writeDurably(counted, pieces(70));
  expect(syncs).toBeGreaterThan(0);
  expect(await isWhole(path, 70)).toBe(true);
});

test('a sync that failed during the writing is an error, although the system reports it once', async () => {
  await using folder = await temporaryDirectory();
  await using file = await open(join(folder.path, 'large'), 'wx');
  const failing = withDatasync(file, () =>
    Promise.reject(Object.assign(new Error('EIO: the disk is broken'), { code: 'EIO' })),
  );
  // It fails with the next write, or after the last one.
  await expect(writeDurably(failing, pieces(70))).rejects.toThrow('the disk is broken');
  await using other = await open(join(folder.path, 'short'), 'wx');
  await expect(
    writeDurably(
      withDatasync(other, () => Promise.reject(new Error('late'))),
      pieces(32),
    ),
  ).rejects.toThrow('late');
});
