import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type Bound, DEFAULT_LIMITS, type Limits } from '../../../scheduler/model/limits.ts';
import type { Revision } from '../../../scheduler/model/location.ts';
import { openSources } from '../../../scheduler/load/sources/open-sources.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { applicationFiles, applicationWorld, makeApplications } from './applications/application-world.ts';

/** What an application's repository makes the scheduler read, with real repositories. */
const MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\ndata: {token: s3cret}\n';

const run = promisify(execFile);
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

/** A cached folder in bytes, as it lies on the disk. */
const sizeOf = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (it) => (await stat(join(it.parentPath, it.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};

const boundTo = (limits: Partial<Limits>): Bound => ({
  limits: { ...DEFAULT_LIMITS, ...limits },
  workspace: 'sales',
  subject: 'shop-web',
});

it.each([
  ['a file', 'fileBytes'],
  ['all files', 'assignmentBytes'],
] as const)(
  'N16: %s that is large and compresses well is not unpacked, at no commit -> WORKSPACE_LIMIT',
  async (_, limit) => {
    const directory = await temporaryDirectory();
    const files = join(directory, 'files');
    const repository = join(directory, 'srv/own.git');
    const cacheDirectory = join(directory, 'cache');
    await writeFiles(files, { 'app/a.yaml': MAP, 'other/big.bin': '' });
    await makeGitRepository(repository, { main: files });
    const bound = boundTo({ [limit]: 4 << 20 });
    const read = (path: string) =>
      openSources({ maps: [], cacheDirectory, env }).read({
        role: 'application/shop-web',
        location: { kind: 'git', repo: pathToFileURL(repository).href, revision: { kind: 'head' } },
        path,
        which: 'all',
        bound,
      });
    for (const commit of [1, 2, 3]) {
      await writeFiles(files, { 'app/note.txt': `${commit}` });
      await writeFile(join(files, 'app/big.bin'), Buffer.alloc((6 << 20) + commit));
      await commitFolder(repository, 'main', files);
      await expect(read('app')).rejects.toMatchObject({ code: 'WORKSPACE_LIMIT' });
    }
    expect(await sizeOf(cacheDirectory)).toBeLessThan(1 << 20);
    // The same repository without it, and another folder of it.
    expect((await read('other')).files).toHaveLength(1);
    await rm(join(files, 'app/big.bin'));
    await commitFolder(repository, 'main', files);
    expect((await read('app')).files.map(({ path }) => path)).toEqual(['a.yaml', 'note.txt']);
  },
);

it('N16: contents that do not compress are not taken beyond the limit either -> WORKSPACE_LIMIT', async () => {
  const directory = await temporaryDirectory();
  const files = join(directory, 'files');
  const repository = join(directory, 'srv/own.git');
  const cacheDirectory = join(directory, 'cache');
  await writeFiles(files, { 'a.yaml': MAP });
  await writeFile(join(files, 'big.bin'), randomBytes(6 << 20));
  await makeGitRepository(repository, { main: files });
  await run('git', ['-C', repository, 'config', 'uploadpack.allowFilter', 'true']);
  await run('git', ['-C', repository, 'config', 'uploadpack.allowAnySHA1InWant', 'true']);
  const read = openSources({ maps: [], cacheDirectory, env }).read({
    role: 'application/shop-web',
    location: { kind: 'git', repo: pathToFileURL(repository).href, revision: { kind: 'head' } },
    path: '.',
    bound: boundTo({ assignmentBytes: 1 << 20 }),
  });
  await expect(read).rejects.toMatchObject({
    code: 'WORKSPACE_LIMIT',
    message: 'all files: more bytes than the limit assignmentBytes allows, which is 1048576',
  });
  expect(await sizeOf(cacheDirectory)).toBeLessThan(1 << 20);
});

const LINES = ours(
  'SchedulingPolicy',
  'lines',
  'spec:\n  deploymentTargetSelector: {workspace: lines}\n  clusterTypeSelector: {}\n',
);

it('N15, N17: an application over a limit of its workspace is held, and nobody else is -> WORKSPACE_LIMIT', async () => {
  const tenant = (name: string, workspace: string) => {
    const files = applicationFiles('{path: app}', { 'app/a.yaml': MAP.replace('private', name) });
    return Object.fromEntries(
      ['platform/base/shop.yaml', 'apps/shop/deploy/shop.yaml', 'apps/shop/app/a.yaml'].map((path) => [
        path.replaceAll('shop', name),
        (files[path] ?? '').replaceAll('shop', name).replace('workspace: sales', `workspace: ${workspace}`),
      ]),
    );
  };
  const limits = (text: string): string =>
    `apiVersion: fleet-ferry/v1alpha1\nkind: Workspace\nmetadata: {name: sales}\nspec: {limits: {${text}}}\n`;
  for (const [text, limit] of [
    ['fileBytes: 600', 'fileBytes'],
    ['assignmentBytes: 600', 'assignmentBytes'],
    ['workspaceBytes: 600', 'workspaceBytes'],
    ['manifestBytes: 600', 'manifestBytes'],
    ['manifestValues: 50', 'manifestValues'],
    ['manifestObjects: 9', 'manifestObjects'],
  ]) {
    const built = await makeApplications(
      await applicationWorld({
        ...applicationFiles('{path: app}', {
          'app/a.yaml': Array.from({ length: 10 }, (_, at) => MAP.replace('private', `a${at}`)).join('---\n'),
        }),
        ...tenant('good', 'lines'),
        'platform/base/lines.yaml': LINES,
        'platform/base/sales.yaml': limits(`${text}`),
      }),
      [],
    );
    expect(built.errors, limit).toMatchObject([{ code: 'WORKSPACE_LIMIT', subject: 'shop-web' }]);
    expect(built.held.join()).toContain(`spec.limits.${limit} of the Workspace sales`);
    expect(Object.keys(built.files)).toEqual(['edge/a.yaml']);
  }
});
