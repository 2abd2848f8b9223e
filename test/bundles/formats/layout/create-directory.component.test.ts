import { readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

test('createDirectory creates a folder with its parents, and accepts one that exists', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'a/b');
  await createDirectory(path, 0o700);
  await createDirectory(path);
  expect(await readdir(folder.path)).toEqual(['a']);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test.each(['file', 'file/below', 'file/far/below'])(
  'createDirectory reports a file in the way of %s',
  async (path) => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'file'), '');
    await expect(createDirectory(join(folder.path, path))).rejects.toMatchObject({
      code: 'IO',
      message: `${join(folder.path, path)} cannot be a folder: a file is in the way`,
    });
  },
);

test('createDirectory keeps the error of the system, such as ENAMETOOLONG', async () => {
  await using folder = await temporaryDirectory();
  await expect(createDirectory(join(folder.path, 'x'.repeat(300), 'y'))).rejects.toMatchObject({
    code: 'ENAMETOOLONG',
  });
});

test('createDirectory works concurrently, and below a symbolic link', async () => {
  await using folder = await temporaryDirectory();
  await symlink(folder.path, join(folder.path, 'link'));
  const path = join(folder.path, 'link/b/c');
  await Promise.all([createDirectory(path), createDirectory(path), createDirectory(path)]);
  expect(await readdir(join(folder.path, 'b'))).toEqual(['c']);
});

test('createDirectory fails at once below /proc, where no folder can be created', async () => {
  await expect(createDirectory('/proc/nothing/below')).rejects.toMatchObject({
    code: 'IO',
    message: '/proc/nothing/below cannot be created: the system keeps no folders there',
  });
});
