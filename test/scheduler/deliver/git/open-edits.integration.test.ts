import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEdits } from '../../../../scheduler/deliver/git/open-edits.ts';
import { startGitServer } from '../../../harness/neighbours/git-server.ts';
import { makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const FILE = 'platform/base/layers.yaml';

/** A repository with many proposed edits of another file, and one of FILE behind them in the order of names. */
const withProposals = async (folder: string, others: number) => {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const bare = join(folder, 'git/org/platform.git');
  const write = async (name: string, text: string): Promise<string> => {
    await mkdir(join(folder, name, 'platform/base'), { recursive: true });
    await writeFile(join(folder, name, FILE), text);
    return join(folder, name);
  };
  await makeGitRepository(bare, {
    main: await write('main', 'a: 1\n'),
    changed: await write('changed', 'a: 2\n'),
  });
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const commit = (branch: string, body: string) =>
    git(
      '-c',
      'user.name=ann',
      '-c',
      'user.email=ann@example.com',
      'commit-tree',
      `${branch}^{tree}`,
      '-p',
      'main',
      '-m',
      `Change it\n\n${body}`,
    );
  const lines: string[] = [];
  for (let at = 0; at < others; at += 1) {
    const id = await commit('main', `- \`platform/other-${at}.yaml\``);
    lines.push(`create refs/heads/fleet-ferry/edit-${String(at).padStart(4, '0')} ${id}`);
  }
  lines.push(`create refs/heads/fleet-ferry/edit-last ${await commit('changed', `- \`${FILE}\``)}`);
  for (const line of lines) await git('update-ref', ...line.split(' ').slice(1));
  await git('update-ref', '-d', 'refs/heads/changed');
};

test('an open edit of a file is found behind more than fifty others', async () => {
  await using folder = await temporaryDirectory('open-edits');
  await withProposals(folder.path, 60);
  await using server = await startGitServer(join(folder.path, 'git'));
  const place = {
    git: { env: { PATH: process.env['PATH'], HOME: folder.path }, signal: new AbortController().signal },
    repo: `${server.url}/org/platform.git`,
    branch: 'main',
    cacheDirectory: join(folder.path, 'cache'),
  };
  const found = await openEdits(place, FILE, undefined);
  expect(found).toMatchObject([
    { branch: 'fleet-ferry/edit-last', author: 'ann', title: 'Change it', pullRequest: undefined },
  ]);
  expect(await openEdits(place, 'platform/other-59.yaml', undefined)).toEqual([]);
});
