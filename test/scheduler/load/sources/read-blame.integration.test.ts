import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBlame } from '../../../../scheduler/load/sources/read-blame.ts';
import { makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

test('a line is given to the commit of its own repository where another one has the same path', async () => {
  await using folder = await temporaryDirectory('read-blame');
  const names = ['platform', 'north'];
  const asked = [];
  for (const name of names) {
    const [files, repository] = [join(folder.path, name), join(folder.path, `${name}.git`)];
    await mkdir(files);
    await writeFile(join(files, 'layers.yaml'), `values: {owner: ${name}}\n`);
    const { main: commit = '' } = await makeGitRepository(repository, { main: files }, { message: name });
    asked.push({ url: `file://${repository}`, commit, file: 'layers.yaml', lines: [1] });
  }
  const found = await readBlame(asked, {
    cacheDirectory: join(folder.path, 'cache'),
    env: { PATH: process.env['PATH'] },
    signal: undefined,
  });
  expect(found.map((lines) => lines.get(1)?.summary)).toEqual(names);
});
