import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { look } from '../../../../scheduler/hub/watch/look.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('the fingerprint of a directory changes when a file is added, removed or changed, and ignores .git', async () => {
  await using folder = await temporaryDirectory('look');
  const directory = join(folder.path, 'platform');
  const options = { cacheDirectory: folder.path, env: {}, signal: new AbortController().signal };
  const see = async (): Promise<unknown> => {
    const seen = await look([{ kind: 'directory', directory, shown: directory }], options);
    return seen.get(directory);
  };
  expect(await see()).toMatchObject({ error: { code: 'SOURCE_MISSING' } });
  await mkdir(join(directory, 'base'), { recursive: true });
  await writeFile(join(directory, 'base/a.yaml'), 'a: 1\n');
  const first = await see();
  expect(first).toEqual({ mark: expect.stringMatching(/^sha256:/) as string });
  await mkdir(join(directory, '.git'));
  await writeFile(join(directory, '.git/index'), 'x');
  expect(await see()).toEqual(first);
  await writeFile(join(directory, 'base/b.yaml'), '');
  const second = await see();
  expect(second).not.toEqual(first);
  await writeFile(join(directory, 'base/a.yaml'), 'a: 22\n');
  expect(await see()).not.toEqual(second);
  await rm(join(directory, 'base/b.yaml'));
  await writeFile(join(directory, 'base/a.yaml'), 'a: 1\n');
  expect(await see()).not.toEqual(second);
});
