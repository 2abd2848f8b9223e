import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { withoutEmptyFolders } from '../../../exporter/write/without-empty-folders.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const listed = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true })).toSorted();

it.each([
  ['DISK_FULL', ['there', 'there/empty']],
  ['BUSY', ['new', 'new/blobs', 'there', 'there/empty', 'there/fleet']],
] as const)('withoutEmptyFolders after a failure with %s leaves these folders: %j', async (code, left) => {
  await using folder = await temporaryDirectory();
  const at = (path: string): string => join(folder.path, path);
  await mkdir(at('there/empty'), { recursive: true });
  const folders = [at('new/blobs'), at('there/fleet'), at('there/empty')];
  const failing = withoutEmptyFolders(folders, async () => {
    for (const path of folders) await mkdir(path, { recursive: true });
    throw new FleetError(code, 'no');
  });
  await expect(failing).rejects.toMatchObject({ code });
  expect(await listed(folder.path)).toEqual(left);
});

it('withoutEmptyFolders keeps folders with content, and all folders of work that succeeded', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'new/blobs');
  const work = (end: () => void) =>
    withoutEmptyFolders([path], async () => {
      await mkdir(path, { recursive: true });
      end();
    });
  await work(() => {});
  expect(await listed(folder.path)).toEqual(['new', 'new/blobs']);
  const filled = withoutEmptyFolders([join(folder.path, 'other')], async () => {
    await mkdir(join(folder.path, 'other'));
    await writeFile(join(folder.path, 'other/request.json'), '{}');
    throw new FleetError('DISK_FULL', 'no');
  });
  await expect(filled).rejects.toMatchObject({ code: 'DISK_FULL' });
  expect(await listed(folder.path)).toContain('other/request.json');
});
