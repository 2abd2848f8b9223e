import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  configuredFor,
  openConfigured,
} from '../../../../../scheduler/deliver/git/forge/configured-forge.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../../file-tree.ts';

const ours = { host: 'Git.example', forge: 'gitea', tokenFile: '/none' };

test.for([
  'https://git.example/org/app.git',
  'https://git.example:8443/org/app',
  'git@git.example:org/app.git',
  'ssh://git@git.example:22/group/org/app',
])('%s is on the configured host', (repo) => {
  expect(configuredFor(repo, [ours])).toBe(ours);
});

test.for([
  'https://evil.example/org/app',
  'https://git.example.evil.example/org/app',
  'https://git.example@evil.example/org/app',
  'https://evil.example/git.example/org/app',
  'git@evil.example:git.example/app',
  '/srv/git.example/app',
])('%s is elsewhere and gets no token', (repo) => {
  expect(configuredFor(repo, [ours])).toBeUndefined();
});

test.for([
  'https://git.example/org/..',
  'https://git.example/..%2f..%2fadmin/app',
  'https://git.example/org/app%3Fx=1',
  'https://git.example/org/app%23',
  'https://git.example/org/app?x',
])('%s would reach another path of the API, and gets no token', (repo) => {
  expect(configuredFor(repo, [ours])).toBeUndefined();
});

test('a missing or empty token file is reported with its path', async () => {
  await using folder = await temporaryDirectory('forge-token');
  await writeFiles(folder.path, { empty: '\n' });
  const access = {
    connection: { plainHttp: [], env: {} },
    signal: new AbortController().signal,
  };
  for (const name of ['empty', 'missing']) {
    const tokenFile = join(folder.path, name);
    await expect(
      openConfigured('https://git.example/org/app', { ...ours, tokenFile }, access),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { file: tokenFile } });
  }
});
