import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sharedReader } from '../../../../bundles/formats/medium/plain-files.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('reads many files of a folder at once, each its own, and none through a link that replaces the folder', async () => {
  await using root = await temporaryDirectory('medium');
  const folder = join(root.path, 'fleet/reports/a');
  await mkdir(folder, { recursive: true });
  const names = Array.from({ length: 200 }, (_, at) => `${at}`);
  for (const name of names) await writeFile(join(folder, name), name);
  const read = sharedReader(root.path);
  const readAll = () => Promise.all([...names, 'none'].map((name) => read(`fleet/reports/a/${name}`, 8)));
  expect((await readAll()).map((bytes) => bytes?.toString())).toEqual([...names, undefined]);
  await expect(read('fleet/reports/a/100', 2)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(await read('fleet/reports/b/1', 8)).toBeUndefined();
  // No call is under way: the next one looks for the folder again.
  await rename(folder, join(root.path, 'elsewhere'));
  await symlink(join(root.path, 'elsewhere'), folder);
  const answers = await Promise.allSettled(names.map((name) => read(`fleet/reports/a/${name}`, 8)));
  expect(new Set(answers.map((one) => one.status === 'rejected' && one.reason.code))).toEqual(
    new Set(['MEDIUM_INVALID']),
  );
  await rm(folder);
  expect(await read('fleet/reports/a/1', 8)).toBeUndefined();
});
