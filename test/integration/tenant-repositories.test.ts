import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import type { Revision } from '../../scheduler/platform/sources/location.ts';
import { openSources } from '../../scheduler/platform/sources/open-sources.ts';
import { makeGitRepository } from '../harness/git-repository.ts';
import { startGitServer } from '../harness/git-server.ts';
import { temporaryDirectory, writeFiles } from '../scheduler/file-tree.ts';
import { applicationFiles, applicationWorld, makeApplications } from './applications/application-world.ts';

/** What an application's repository makes the scheduler read, with real repositories. */
const MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\ndata: {token: s3cret}\n';

const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };

const world = async () => {
  const directory = await temporaryDirectory();
  await writeFiles(join(directory, 'files'), { 'a.yaml': MAP });
  await writeFiles(join(directory, 'other'), { 'b.yaml': MAP });
  const { main: secret = '' } = await makeGitRepository(join(directory, 'srv/priv.git'), {
    main: join(directory, 'files'),
  });
  await makeGitRepository(join(directory, 'srv/own.git'), { main: join(directory, 'other') });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env });
  const read = (repo: string, revision: Revision, redirects?: 'refused') =>
    sources.read({
      role: 'application/shop-web',
      location: { kind: 'git', repo, revision, ...(redirects && { redirects }) },
      path: '.',
      which: 'all',
    });
  return { directory, secret, read };
};

it('N12: a server that redirects to another repository is not followed -> SOURCE_UNREACHABLE', async () => {
  const { directory, read } = await world();
  await using git = await startGitServer(join(directory, 'srv'));
  const server = createServer((request, response) => {
    response.writeHead(302, { location: `${git.url}${request.url?.replace('own', 'priv')}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const repo = `http://127.0.0.1:${(server.address() as AddressInfo).port}/own.git`;
  try {
    await expect(read(repo, { kind: 'head' }, 'refused')).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
    });
    // What the platform names may move.
    expect((await read(repo, { kind: 'head' })).files.map(({ path }) => path)).toEqual(['a.yaml']);
  } finally {
    server.close();
  }
});

it('N14: a commit of another repository is not there in the own one, though the cache has it -> SOURCE_MISSING', async () => {
  const { directory, secret, read } = await world();
  const url = (name: string): string => pathToFileURL(join(directory, 'srv', name)).href;
  expect((await read(url('priv.git'), { kind: 'head' })).snapshot.commit).toBe(secret);
  await expect(read(url('own.git'), { kind: 'any', name: secret })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
  });
});

it('N13: an application that names a local repository is held, and nobody else is -> FIELD_INVALID', async () => {
  const { directory } = await world();
  for (const repo of [pathToFileURL(join(directory, 'srv/priv.git')).href, join(directory, 'srv/priv.git')]) {
    const built = await makeApplications(
      await applicationWorld({
        ...applicationFiles(`{repo: '${repo}', branch: main}`, {}),
        'platform/base/good.yaml': applicationFiles('{path: app}', {})['platform/base/shop.yaml']?.replaceAll(
          'shop',
          'good',
        ) as string,
        'apps/good/deploy/good.yaml': applicationFiles('{path: app}', {})[
          'apps/shop/deploy/shop.yaml'
        ]?.replaceAll('shop', 'good') as string,
        'apps/good/app/a.yaml': MAP,
      }),
      [],
    );
    expect(built.errors).toMatchObject([{ code: 'FIELD_INVALID', subject: 'shop-web' }]);
    expect(Object.keys(built.files)).toEqual(['edge/a.yaml']);
  }
});
