import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchCommit, prepare, withCache } from '../../../../scheduler/load/sources/git-cache.ts';
import { cachedRepository } from '../../../../scheduler/load/sources/git-repository.ts';
import { runGit, withRemote } from '../../../../scheduler/load/sources/run-git.ts';
import { commitFolder, makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

/** Over the first protocol Git sends only what a branch or tag points at, as old servers do over any. */
const OLD = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'protocol.version', GIT_CONFIG_VALUE_0: '0' };

describe('a repository on a server that sends commits of branches alone', () => {
  let folder: TemporaryDirectory;
  let origin = '';
  let files = '';
  beforeEach(async () => {
    folder = await temporaryDirectory('git-cache');
    [origin, files] = [join(folder.path, 'origin.git'), join(folder.path, 'files')];
    await mkdir(files);
    await write('1');
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  const write = (text: string): Promise<void> => writeFile(join(files, 'line.yaml'), `line: ${text}\n`);
  const commit = async (branch: string, text: string): Promise<string> => {
    await write(text);
    return await commitFolder(origin, branch, files);
  };
  const fetched = async (id: string): Promise<string> => {
    const url = pathToFileURL(origin).href;
    const repository = cachedRepository(url, join(folder.path, 'cache'));
    const git = withRemote({ env: { ...process.env, ...OLD }, signal: undefined }, url);
    await withCache(git, repository, async () => {
      await prepare(git, repository);
      await fetchCommit(git, repository, id);
    });
    const shown = await runGit(git, ['--git-dir', repository.gitDirectory, 'show', `${id}:line.yaml`]);
    return shown.out.trim();
  };

  it('is read at an older commit after a newer one', async () => {
    const { main: first = '' } = await makeGitRepository(origin, { main: files });
    const second = await commit('main', '2');
    const third = await commit('main', '3');
    expect(await fetched(third)).toBe('line: 3');
    expect(await fetched(first)).toBe('line: 1');
    expect(await fetched(second)).toBe('line: 2');
  });

  it.each(['2001-01-01', '2100-01-01'])(
    'is read after a git that was killed has left its lock, by a clock of %s',
    async (at) => {
      const { main: first = '' } = await makeGitRepository(origin, { main: files });
      expect(await fetched(first)).toBe('line: 1');
      const { gitDirectory } = cachedRepository(pathToFileURL(origin).href, join(folder.path, 'cache'));
      const left = join(gitDirectory, 'shallow.lock');
      await writeFile(left, '');
      await utimes(left, new Date(at), new Date(at));
      expect(await fetched(await commit('main', '2'))).toBe('line: 2');
    },
  );

  it('is read after a branch gave way to one whose name begins with it', async () => {
    await makeGitRepository(origin, { main: files, release: files });
    const one = await commit('release', '1.1');
    await commit('release', '1.2');
    expect(await fetched(one)).toBe('line: 1.1');
    await runOrFail(['git', '-C', origin, 'branch', '-D', 'release']);
    const next = await commit('release/2', '2.0');
    await commit('release/2', '2.1');
    expect(await fetched(next)).toBe('line: 2.0');
  });
});
