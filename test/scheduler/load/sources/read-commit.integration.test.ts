import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cachedRepository } from '../../../../scheduler/load/sources/git-repository.ts';
import { readCommit } from '../../../../scheduler/load/sources/read-commit.ts';
import { makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

test('a commit has author and title where there is git, and no commit is known where there is none', async () => {
  await using folder = await temporaryDirectory('read-commit');
  const [files, cacheDirectory] = [join(folder.path, 'files'), join(folder.path, 'cache')];
  await mkdir(files);
  await writeFile(join(files, 'scale.yaml'), 'line: 3\n');
  const repo = 'https://git.example/scale.git';
  const { gitDirectory } = cachedRepository(repo, cacheDirectory);
  await mkdir(join(gitDirectory, '..'), { recursive: true });
  const { main: commit = '' } = await makeGitRepository(
    gitDirectory,
    { main: files },
    { message: 'Scale: line 3' },
  );
  const at = (path: string | undefined) =>
    readCommit({ repo, commit }, { cacheDirectory, env: { PATH: path }, signal: undefined });
  expect(await at(process.env['PATH'])).toMatchObject({ commit, title: 'Scale: line 3' });
  expect(await at(files)).toBeUndefined();
});
