import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type FleetError, formatError, isFleetError } from '../../../bundles/errors.ts';
import { DEFAULT_LIMITS } from '../../../scheduler/model/limits.ts';
import { loadPlatform } from '../../../scheduler/load/load-platform.ts';
import type { SourceMap } from '../../../scheduler/model/location.ts';
import { openSources } from '../../../scheduler/load/sources/open-sources.ts';
import { renderPlatform } from '../../../scheduler/render/render-platform.ts';
import { renderTree } from '../../../scheduler/render/render-tree.ts';
import { schedulePlatform } from '../../../scheduler/plan/schedule/schedule-platform.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { readTree, temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform } from '../../scheduler/fleet-platform.ts';
import {
  CONTROL_PLANE,
  kalypsoDev,
  kalypsoMain,
  SHOP,
  shopRepository,
} from '../../scheduler/kalypso-platform.ts';
import { LONG } from '../../harness/run/long.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';

const run = promisify(execFile);

/** Git without this machine's configuration: fixed author, fixed dates. */
const ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};

const git = async (directory: string, ...args: string[]): Promise<string> => {
  const { stdout } = await run('git', args, { cwd: directory, env: ENV });
  return stdout.trim();
};

/** Commits files to a branch of a bare repository, without what other branches have. The first branch is the default one. */
const commit = async (repository: string, branch: string, files: Record<string, string>): Promise<string> => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, files);
  if (existsSync(repository)) return commitFolder(repository, branch, folder);
  return (await makeGitRepository(repository, { [branch]: folder }))[branch] ?? '';
};

const render = async (platform: string, maps: readonly SourceMap[], cache: string, env = ENV) => {
  const loaded = await loadPlatform({ platform, environment: 'dev', maps, cacheDirectory: cache, env });
  const result = renderPlatform(loaded, schedulePlatform(loaded));
  expect(result.held).toEqual([]);
  const files = [...renderTree(loaded, result)].map(([path, bytes]) => [path, bytes.toString()]);
  return { loaded, files: Object.fromEntries(files) as Record<string, string> };
};

test('a control plane in Git renders the same tree as its directories', async () => {
  const directory = await temporaryDirectory();
  const urls = [`file://${directory}/control-plane`, `file://${directory}/shop`] as const;
  const promoted = await commit(join(directory, 'control-plane'), 'main', kalypsoMain(...urls));
  // What came later to main is not promoted, and must not be seen.
  await commit(join(directory, 'control-plane'), 'main', {
    ...kalypsoMain(...urls),
    'templates/all.yaml': '',
  });
  await commit(join(directory, 'control-plane'), 'dev', kalypsoDev(urls[0], promoted));
  const shop = await commit(join(directory, 'shop'), 'main', shopRepository());
  await writeFiles(join(directory, 'plain'), {});
  await writeFiles(join(directory, 'plain/main'), kalypsoMain());
  await writeFiles(join(directory, 'plain/dev'), kalypsoDev(CONTROL_PLANE, promoted));
  await writeFiles(join(directory, 'plain/shop'), shopRepository());

  const fromGit = await render(`${urls[0]}#main`, [], join(directory, 'cache'));
  const fromDirectories = await render(
    join(directory, 'plain/main'),
    [
      { repo: CONTROL_PLANE, ref: 'dev', directory: join(directory, 'plain/dev') },
      { repo: CONTROL_PLANE, directory: join(directory, 'plain/main') },
      { repo: SHOP, ref: 'main', directory: join(directory, 'plain/shop') },
    ],
    join(directory, 'cache'),
  );

  expect(fromGit.files).toEqual(fromDirectories.files);
  expect(fromGit.files['edge/shop-web/platform-config.yaml']).toBe('url: https://eu.example.com\n');
  expect(fromGit.files['.github/tracking/Promoted_Commit_Id']).toBe(promoted);
  const sources = Object.fromEntries(fromGit.loaded.sources.map((source) => [source.role, source]));
  expect(sources['base/main']).toMatchObject({ repo: urls[0], ref: 'main', commit: promoted, path: '.' });
  expect(sources['workload/shop-reg']).toMatchObject({
    repo: urls[1],
    ref: 'main',
    commit: shop,
    path: 'deploy',
  });
  // The digest of what was read is the same on both ways, only the commit is Git's own.
  const trees = (from: typeof fromGit) =>
    from.loaded.sources
      .filter(({ role }) => role !== 'base/main' && role !== 'platform' && role !== 'environment/dev')
      .map(({ tree }) => tree);
  expect(trees(fromGit)).toEqual(trees(fromDirectories));
});

test('a platform in a folder of a repository takes its applications from the same commit', async () => {
  const directory = await temporaryDirectory();
  const repo = join(directory, 'all');
  const first = await commit(repo, 'main', fleetPlatform());
  await git(repo, 'tag', 'r1');
  await commit(repo, 'main', { 'platform/fleet.yaml': '' });
  const options = { environment: 'prod', maps: [], cacheDirectory: join(directory, 'cache'), env: ENV };
  const loaded = await loadPlatform({ ...options, platform: `file://${repo}#r1:platform` });
  expect(loaded.targets.map(({ name, at }) => [name, at.file])).toEqual([
    ['shop-web', `file://${repo}#r1:apps/shop/deploy/shop.yaml`],
  ]);
  expect(loaded.sources.map(({ role, commit, path }) => [role, commit, path])).toEqual([
    ['environment/prod', first, 'platform/environments/prod'],
    ['platform', first, 'platform'],
    ['workload/shop', first, 'apps/shop/deploy'],
  ]);
  await writeFiles(join(directory, 'plain'), fleetPlatform());
  const plain = await loadPlatform({ ...options, platform: join(directory, 'plain/platform') });
  expect(loaded.sources.map(({ tree }) => tree)).toEqual(plain.sources.map(({ tree }) => tree));
});

test('an application of a platform in Git cannot be outside of the repository', async () => {
  const directory = await temporaryDirectory();
  const files = fleetPlatform();
  const shop = files['platform/base/shop.yaml']?.replace('../apps/shop', '../../../etc') ?? '';
  await commit(join(directory, 'all'), 'main', { ...files, 'platform/base/shop.yaml': shop });
  const platform = `file://${directory}/all#main:platform`;
  const options = { environment: 'prod', maps: [], cacheDirectory: join(directory, 'cache'), env: ENV };
  await expect(loadPlatform({ ...options, platform })).rejects.toMatchObject({
    code: 'FIELD_INVALID',
    at: { file: `file://${directory}/all#main:platform/base/shop.yaml`, line: 7 },
  });
});

test('a password in a URL is neither printed nor stored', async () => {
  const directory = await temporaryDirectory();
  await commit(join(directory, 'shop'), 'main', { 'one.yaml': 'one' });
  const env = {
    ...ENV,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.file://${directory}/.insteadOf`,
    GIT_CONFIG_VALUE_0: 'https://user:s3cret@git.example.com/',
  };
  const cacheDirectory = join(directory, 'cache');
  const sources = openSources({ maps: [], cacheDirectory, env });
  const location = sources.locate('https://user:s3cret@git.example.com/shop', { kind: 'head' });
  const { snapshot } = await sources.read({ role: 'workload/shop', location, path: '.' });
  expect(snapshot.repo).toBe('https://git.example.com/shop');
  await expect(run('grep', ['-r', 's3cret', cacheDirectory])).rejects.toMatchObject({ code: 1 });
});

test('a source may be a branch, a tag, a commit and a subfolder', async () => {
  const directory = await temporaryDirectory();
  const repo = `file://${directory}/shop`;
  const first = await commit(join(directory, 'shop'), 'main', { 'a/one.yaml': 'one' });
  await git(join(directory, 'shop'), 'tag', '--annotate', 'v1', '--message', 'first');
  const second = await commit(join(directory, 'shop'), 'main', {
    'a/one.yaml': 'two',
    'b/two.yaml': 'other',
  });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const read = async (revision: Parameters<typeof sources.locate>[1], path = '.') => {
    const source = await sources.read({
      role: 'workload/shop',
      location: sources.locate(repo, revision),
      path,
    });
    return [source.snapshot.commit, ...source.files.map((file) => `${file.path}=${file.bytes.toString()}`)];
  };
  expect(await read({ kind: 'head' })).toEqual([second, 'a/one.yaml=two', 'b/two.yaml=other']);
  expect(await read({ kind: 'branch', name: 'main' }, 'b')).toEqual([second, 'two.yaml=other']);
  expect(await read({ kind: 'any', name: 'v1' })).toEqual([first, 'a/one.yaml=one']);
  expect(await read({ kind: 'any', name: first }, './a/')).toEqual([first, 'one.yaml=one']);
  expect(await read({ kind: 'commit', commit: first, branch: 'main' })).toEqual([first, 'a/one.yaml=one']);
});

test('all branches have the state of the first request to the repository', async () => {
  const directory = await temporaryDirectory();
  const repo = `file://${directory}/shop`;
  await commit(join(directory, 'shop'), 'main', { 'one.yaml': 'main' });
  const dev = await commit(join(directory, 'shop'), 'dev', { 'one.yaml': 'dev' });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const read = (name: string) =>
    sources.read({ role: 'base/x', location: sources.locate(repo, { kind: 'branch', name }), path: '.' });
  await read('main');
  await commit(join(directory, 'shop'), 'dev', { 'one.yaml': 'newer' });
  expect((await read('dev')).snapshot.commit).toBe(dev);
});

test('files have the committed bytes: no line end is changed, and each link is reported', async () => {
  const directory = await temporaryDirectory();
  const [shop, repository] = [join(directory, 'shop'), join(directory, 'shop.git')];
  await writeFiles(shop, {
    'one.yaml': 'a\nb\n',
    '.gitattributes': '*.yaml text eol=crlf ident\n',
    '../secret.yaml': 'secret',
  });
  await symlink(join(directory, 'secret.yaml'), join(shop, 'link.yaml'));
  await symlink(directory, join(shop, 'folder'));
  await makeGitRepository(repository, { main: shop });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const fromGit = await sources.read({
    role: 'base/x',
    location: sources.locate(`file://${repository}`, { kind: 'head' }),
    path: '.',
  });
  expect(fromGit.files.map((file) => [file.path, file.bytes.toString()])).toEqual([['one.yaml', 'a\nb\n']]);
  const location = { kind: 'directory', directory: shop, shown: 'shop' } as const;
  const plain = await sources.read({ role: 'base/x', location, path: '.' });
  expect(plain.files.map((file) => file.path)).toEqual(['one.yaml']);
  expect(plain.snapshot.tree).toBe(fromGit.snapshot.tree);
  const places = [`file://${repository}#HEAD:`, 'shop/'];
  expect(sources.remarks?.().map(formatError)).toEqual(
    places.flatMap((place) =>
      ['folder', 'link.yaml'].map(
        (link) =>
          `${place}${link}: REFERENCE_MISSING: this link is not followed, so nothing is read here. Commit the file or folder itself, or name the link in .sourceignore.`,
      ),
    ),
  );
});

test('only the requested folder is fetched if the server supports it', async () => {
  const directory = await temporaryDirectory();
  const shop = join(directory, 'shop');
  await commit(shop, 'main', { 'deploy/one.yaml': 'one', 'big/model.bin': 'x'.repeat(100_000) });
  await git(shop, 'config', 'uploadpack.allowFilter', 'true');
  const cacheDirectory = join(directory, 'cache');
  const sources = openSources({ maps: [], cacheDirectory, env: ENV });
  const location = sources.locate(`file://${shop}`, { kind: 'head' });
  await sources.read({ role: 'workload/shop', location, path: 'deploy' });
  const [bare] = (await readdir(cacheDirectory)).filter((name) => name.endsWith('.git'));
  const big = await git(shop, 'rev-parse', 'HEAD:big/model.bin');
  const objects = await git(
    join(cacheDirectory, bare as string),
    'cat-file',
    '--batch-all-objects',
    '--batch-check',
  );
  expect(objects).toContain('tree');
  expect(objects).not.toContain(big);
});

test('all files of a commit are fetched by one request, and a cache with many packs is created again', async () => {
  const directory = await temporaryDirectory();
  const shop = join(directory, 'shop');
  const files = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`${at}.yaml`, `at: ${at}`]));
  await commit(shop, 'main', files);
  await git(shop, 'config', 'uploadpack.allowFilter', 'true');
  const cacheDirectory = join(directory, 'cache');
  const packs = async () => {
    const [bare = ''] = (await readdir(cacheDirectory)).filter((name) => name.endsWith('.git'));
    const folder = join(cacheDirectory, bare, 'objects/pack');
    return { folder, names: (await readdir(folder)).filter((name) => name.endsWith('.pack')) };
  };
  const read = async () => {
    const sources = openSources({ maps: [], cacheDirectory, env: ENV });
    const location = sources.locate(`file://${shop}`, { kind: 'head' });
    return (await sources.read({ role: 'workload/shop', location, path: '.' })).files.length;
  };
  expect(await read()).toBe(5);
  const { folder, names } = await packs();
  // Trees, and blobs.
  expect(names).toHaveLength(2);
  for (let at = 0; at < 100; at += 1) await writeFile(join(folder, `${at}.pack`), '');
  await commit(shop, 'main', { ...files, 'new.yaml': 'at: new' });
  expect(await read()).toBe(6);
  expect((await packs()).names).toHaveLength(2);
});

/** A folder with a program `git` that writes a line to `calls` for each start. */
const countedGit = async (directory: string) => {
  const bin = join(directory, 'bin');
  const calls = join(directory, 'calls');
  const { stdout } = await run('which', ['git'], { env: ENV });
  await writeFiles(bin, { git: `#!/bin/sh\necho >> '${calls}'\nexec '${stdout.trim()}' "$@"\n` });
  await chmod(join(bin, 'git'), 0o755);
  const count = async () => (await readFile(calls, 'utf8')).split('\n').length - 1;
  return { env: { ...ENV, PATH: `${bin}:${ENV.PATH}` }, count };
};

const FOLDERS = Array.from({ length: 30 }, (_, at) => `apps/app-${at}`);

const APPLICATIONS = {
  ...Object.fromEntries(FOLDERS.map((path, at) => [`${path}/deploy.yaml`, `at: ${at}`])),
  '.sourceignore': '*.tmp.yaml\n',
  'apps/.sourceignore': 'drafts/\n',
  'apps/app-1/drafts/x.yaml': 'draft',
  'apps/app-1/y.tmp.yaml': 'temporary',
  'apps/app-1/deeper/z.yaml': 'deeper',
};

/** A repository with one folder for each application, and rules above them. */
const manyApplications = async (directory: string) => {
  const shop = join(directory, 'shop');
  await commit(shop, 'main', APPLICATIONS);
  await git(shop, 'config', 'uploadpack.allowFilter', 'true');
  return shop;
};

test('folders of one commit that are read together share the git processes, and have their own files', async () => {
  const directory = await temporaryDirectory();
  const shop = await manyApplications(directory);
  const readAll = async (paths: readonly string[]) => {
    const folder = await temporaryDirectory();
    const { env, count } = await countedGit(folder);
    const sources = openSources({ maps: [], cacheDirectory: join(folder, 'cache'), env });
    const location = sources.locate(`file://${shop}`, { kind: 'head' });
    const read = await Promise.all(paths.map((path) => sources.read({ role: 'workload/x', location, path })));
    return { read, calls: await count() };
  };
  const one = await readAll(FOLDERS.slice(0, 1));
  // Overlapping folders, too.
  const paths = [...FOLDERS, '.', 'apps', 'apps/app-1/deeper', 'apps/app-2/deploy.yaml'];
  const all = await readAll(paths);
  // The first folder starts alone; folders that overlap are written one after the other.
  expect(all.calls).toBeLessThanOrEqual(one.calls + 16);
  const files = join(directory, 'files');
  await writeFiles(files, APPLICATIONS);
  const maps = [{ repo: 'https://git.example/shop', directory: files }];
  const plain = openSources({ maps, cacheDirectory: join(directory, 'unused'), env: ENV });
  const location = plain.locate('https://git.example/shop', { kind: 'head' });
  for (const [at, path] of paths.entries()) {
    const expected = await plain.read({ role: 'workload/x', location, path });
    expect(all.read[at]?.files).toEqual(expected.files);
    expect(all.read[at]?.snapshot.tree).toBe(expected.snapshot.tree);
  }
});

test('a new commit costs only its changed folders, and a truncated cache is created again', async () => {
  const directory = await temporaryDirectory();
  const shop = await manyApplications(directory);
  const cacheDirectory = join(directory, 'cache');
  const read = async () => {
    const sources = openSources({ maps: [], cacheDirectory, env: ENV });
    const location = sources.locate(`file://${shop}`, { kind: 'head' });
    return await Promise.all(FOLDERS.map((path) => sources.read({ role: 'workload/x', location, path })));
  };
  const places = (sources: Awaited<ReturnType<typeof read>>) =>
    sources.map(({ snapshot }) => snapshot.directory);
  const before = await read();
  await commit(shop, 'main', { ...APPLICATIONS, 'apps/app-7/deploy.yaml': 'at: new' });
  const after = await read();
  expect(after[7]?.files.map(({ bytes }) => bytes.toString())).toEqual(['at: new']);
  expect(places(after).filter((place, at) => place !== places(before)[at])).toEqual([places(after)[7]]);
  // Rules above a folder decide what is read of it.
  await commit(shop, 'main', { ...APPLICATIONS, '.sourceignore': 'nothing\n' });
  const ruled = await read();
  expect(places(ruled).filter((place) => places(after).includes(place))).toEqual([]);
  expect(ruled[1]?.files.map(({ path }) => path)).toEqual(['deeper/z.yaml', 'deploy.yaml', 'y.tmp.yaml']);
  for (const name of await readdir(join(cacheDirectory, 'commits')))
    await writeFile(join(cacheDirectory, 'commits', name), '{"apps/app-0":{"na');
  expect(places(await read())).toEqual(places(ruled));
});

test('a folder over its limits or a missing one affects no other folder', async () => {
  const directory = await temporaryDirectory();
  const shop = await manyApplications(directory);
  await commit(shop, 'main', { ...APPLICATIONS, 'apps/app-3/big.yaml': 'x'.repeat(200_000) });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const location = sources.locate(`file://${shop}`, { kind: 'head' });
  const bound = (subject: string) => ({
    limits: { ...DEFAULT_LIMITS, fileBytes: 100_000 },
    workspace: 'sales',
    subject,
  });
  const read = await Promise.allSettled(
    [...FOLDERS.slice(0, 5), 'apps/none'].map((path) =>
      sources.read({ role: `workload/${path}`, location, path, bound: bound(path) }),
    ),
  );
  expect(read.map((one) => (one.status === 'rejected' ? (one.reason as FleetError).code : 'read'))).toEqual([
    'read',
    'read',
    'read',
    'WORKSPACE_LIMIT',
    'read',
    'SOURCE_MISSING',
  ]);
  expect(String((read[3] as PromiseRejectedResult).reason)).toContain('apps/app-3/big.yaml');
});

test("insteadOf of the user's Git configuration is used", async () => {
  const directory = await temporaryDirectory();
  await commit(join(directory, 'shop'), 'main', { 'one.yaml': 'one' });
  const env = {
    ...ENV,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.file://${directory}/.insteadOf`,
    GIT_CONFIG_VALUE_0: 'https://git.example.com/',
  };
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env });
  const location = sources.locate('https://git.example.com/shop', { kind: 'head' });
  const source = await sources.read({ role: 'workload/shop', location, path: '.' });
  expect(source.files.map((file) => file.path)).toEqual(['one.yaml']);
  expect(source.snapshot.repo).toBe('https://git.example.com/shop');
});

test('an unreachable repository is named without its password, with the reason of git', async () => {
  const directory = await temporaryDirectory();
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const location = sources.locate('https://user:s3cret@localhost:1/shop', { kind: 'head' });
  const error = await sources
    .read({ role: 'workload/shop', location, path: '.' })
    .catch((caught: unknown) => caught);
  expect(isFleetError(error, 'SOURCE_UNREACHABLE')).toBe(true);
  const said = isFleetError(error) ? formatError(error) : '';
  expect(said).toMatch(/^SOURCE_UNREACHABLE: https:\/\/localhost:1\/shop could not be read: fatal: .*--map/);
  expect(said).not.toContain('s3cret');
});

test('a missing branch, commit or folder is SOURCE_MISSING with what exists', async () => {
  const directory = await temporaryDirectory();
  await commit(join(directory, 'shop'), 'main', { 'one.yaml': 'one' });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const read = (revision: Parameters<typeof sources.locate>[1], path = '.') =>
    sources.read({
      role: 'workload/shop',
      location: sources.locate(`file://${directory}/shop`, revision),
      path,
    });
  await expect(read({ kind: 'branch', name: 'dev' })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
    hint: 'It has main',
  });
  await expect(read({ kind: 'commit', commit: '0'.repeat(39) + '1' })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
  });
  await expect(read({ kind: 'head' }, 'deploy')).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
    message: `there is no path deploy in file://${directory}/shop`,
  });
});

test('a stopped read ends as ABORTED', async () => {
  const directory = await temporaryDirectory();
  const stopped = AbortSignal.abort();
  const sources = openSources({
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: ENV,
    signal: stopped,
  });
  const location = sources.locate('https://localhost:1/shop', { kind: 'head' });
  await expect(sources.read({ role: 'x', location, path: '.' })).rejects.toMatchObject({ code: 'ABORTED' });
});

test('an abbreviated commit is refused with a hint', async () => {
  const directory = await temporaryDirectory();
  const first = await commit(join(directory, 'shop'), 'main', { 'one.yaml': 'one' });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const location = sources.locate(`file://${directory}/shop`, { kind: 'any', name: first.slice(0, 8) });
  await expect(sources.read({ role: 'x', location, path: '.' })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
    hint: expect.stringMatching(/^A commit is named by all of its 40/),
  });
});

test('names may contain spaces, percent signs and other scripts', async () => {
  const directory = await temporaryDirectory();
  const shop = join(directory, 'ein Lädchen 店 100%');
  const first = await commit(shop, 'main', { 'ünter ordner/eins.yaml': 'one', 'b c/zwei.yaml': 'two' });
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const location = sources.locate(pathToFileURL(shop).href, { kind: 'branch', name: 'main' });
  const { snapshot, files } = await sources.read({ role: 'x', location, path: 'ünter ordner' });
  expect([snapshot.commit, files.map(({ path }) => path)]).toEqual([first, ['eins.yaml']]);
});

test('a submodule is reported, ignored and never fetched', async () => {
  const directory = await temporaryDirectory();
  await commit(join(directory, 'other'), 'main', { 'secret.yaml': 'other' });
  const shop = join(directory, 'shop');
  await writeFiles(shop, { 'deploy/one.yaml': 'one' });
  await git(shop, 'init', '--quiet', '--initial-branch', 'main');
  await git(shop, 'add', '--all');
  const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add'];
  await git(shop, ...add, `${directory}/other`, 'deploy/other');
  await git(shop, 'commit', '--quiet', '--message', 'submodule');
  const cacheDirectory = join(directory, 'cache');
  // The second time it comes out of the cache.
  for (const _ of [1, 2]) {
    const sources = openSources({ maps: [], cacheDirectory, env: ENV });
    const location = sources.locate(`file://${shop}`, { kind: 'head' });
    const { files } = await sources.read({ role: 'workload/shop', location, path: 'deploy' });
    expect(files.map(({ path }) => path)).toEqual(['one.yaml']);
    expect(sources.remarks?.().map(formatError)).toEqual([
      `REFERENCE_MISSING: file://${shop}: the submodule "deploy/other" of file://${shop} is not read. Name its repository where the platform names repositories, or commit the files themselves.`,
    ]);
  }
});

test('an unreachable repository is read from the cache if that is allowed, and is reported', async () => {
  const directory = await temporaryDirectory();
  const urls = [`file://${directory}/control-plane`, `file://${directory}/shop`] as const;
  await commit(join(directory, 'control-plane'), 'main', kalypsoMain(...urls));
  await commit(join(directory, 'control-plane'), 'dev', kalypsoDev(urls[0]));
  const shop = await commit(join(directory, 'shop'), 'main', shopRepository());
  const cache = join(directory, 'cache');
  const before = await render(urls[0], [], cache);
  await rename(join(directory, 'shop'), join(directory, 'shop-is-down'));
  const options = { platform: urls[0], environment: 'dev', maps: [], cacheDirectory: cache, env: ENV };
  await expect(loadPlatform(options)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  const stale = await loadPlatform({ ...options, staleOk: true });
  const result = renderPlatform(stale, schedulePlatform(stale));
  expect(
    Object.fromEntries([...renderTree(stale, result)].map(([path, bytes]) => [path, bytes.toString()])),
  ).toEqual(before.files);
  expect(stale.advice?.map(({ code, message, hint }) => [code, message, hint])).toEqual([
    [
      'SOURCE_UNREACHABLE',
      expect.stringMatching(/shop.*could not be read: .*; it is read as of \d{4}-\d\d-\d\dT/),
      expect.stringContaining(shop.slice(0, 12)),
    ],
  ]);
  // What was never read cannot be read as it was.
  const sources = openSources({
    maps: [],
    cacheDirectory: join(directory, 'empty'),
    env: ENV,
    staleOk: true,
  });
  const location = sources.locate(urls[1], { kind: 'branch', name: 'main' });
  await expect(sources.read({ role: 'x', location, path: '.' })).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
  });
});

test('many processes read many commits with one cache at the same time', async () => {
  const directory = await temporaryDirectory();
  const shop = join(directory, 'shop');
  const commits: string[] = [];
  for (let count = 0; count < 4; count += 1)
    commits.push(await commit(shop, 'main', { 'one.yaml': `${count}`, 'big.yaml': 'x'.repeat(50_000) }));
  const program = join(directory, 'read.mjs');
  await writeFile(
    program,
    `import { openSources } from ${JSON.stringify(join(import.meta.dirname, '../../../scheduler/load/sources/open-sources.ts'))};
const sources = openSources({ maps: [], cacheDirectory: process.argv[2], env: process.env });
const read = async (commit) => {
  const location = sources.locate(process.argv[3], { kind: 'commit', commit });
  const { files } = await sources.read({ role: 'x', location, path: '.' });
  return files.map(({ bytes }) => bytes.toString().slice(0, 5)).join();
};
console.log((await Promise.all(process.argv.slice(4).map(read))).join(' '));
`,
  );
  const args = [program, join(directory, 'cache'), `file://${shop}`, ...commits];
  const all = await Promise.all(Array.from({ length: 3 }, () => run(process.execPath, args, { env: ENV })));
  expect(all.map(({ stdout }) => stdout.trim())).toEqual(
    Array.from({ length: 3 }, () => 'xxxxx,0 xxxxx,1 xxxxx,2 xxxxx,3'),
  );
});

describe('Git over a network', () => {
  test('uses the ssh of git for URLs and for user@host:path', async () => {
    const directory = await temporaryDirectory();
    const first = await commit(join(directory, 'srv/shop'), 'main', { 'one.yaml': 'one' });
    // Replaces ssh: notes what it was asked, and runs the command here.
    const ssh = join(directory, 'ssh');
    await writeFile(
      ssh,
      `#!/bin/sh
echo "$@" >> "${directory}/asked"
while [ "\${1#-}" != "$1" ]; do case "$1" in -p|-o|-l) shift;; esac; shift; done
shift
cd "${directory}" && exec sh -c "$(echo "$1" | sed "s#'/srv#'${directory}/srv#")"
`,
    );
    await chmod(ssh, 0o755);
    const env = { ...ENV, GIT_SSH_COMMAND: ssh };
    for (const repo of ['ssh://git@git.example.com:2222/srv/shop', 'git@git.example.com:srv/shop']) {
      const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env });
      const location = sources.locate(repo, { kind: 'branch', name: 'main' });
      const { snapshot } = await sources.read({ role: 'x', location, path: '.' });
      expect(snapshot.commit).toBe(first);
    }
    const asked = await readFile(join(directory, 'asked'), 'utf8');
    expect(asked).toMatch(/-p 2222 git@git\.example\.com git-upload-pack/);
    expect(asked).toMatch(/git@git\.example\.com git-upload-pack 'srv\/shop'/);
  });

  test("uses the password of git's credential helper for HTTP", async () => {
    const directory = await temporaryDirectory();
    const shop = join(directory, 'srv/shop.git');
    await writeFiles(join(directory, 'files'), { 'one.yaml': 'one' });
    const { main } = await makeGitRepository(shop, { main: join(directory, 'files') });
    await using inner = await startGitServer(join(directory, 'srv'));
    await using gate = await startGate(inner.url, 'someone:s3cret');
    await writeFile(
      join(directory, '.gitconfig'),
      '[credential]\n\thelper = "!f() { echo username=someone; echo password=s3cret; }; f"\n',
    );
    const read = async (home: string) => {
      const sources = openSources({
        maps: [],
        cacheDirectory: join(directory, 'cache'),
        env: { ...ENV, HOME: home },
      });
      const location = sources.locate(`${gate.url}/shop.git`, { kind: 'head' });
      return (await sources.read({ role: 'x', location, path: '.' })).snapshot.commit;
    };
    await expect(read('/nonexistent')).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(await read(directory)).toBe(main);
  });
});

/** Lets through to another server who knows the password (RFC 7617). */
const startGate = async (target: string, password: string) => {
  const wanted = `Basic ${Buffer.from(password).toString('base64')}`;
  const server = createServer((incoming, response) => {
    if (incoming.headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const { method, headers } = incoming;
    const passed = request(`${target}${incoming.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(passed);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
};

describeWith(['kalypsoCases'], 'real control planes in Git, with their own URLs', ({ kalypsoCases }) => {
  type Folder = { repo: string; branch: string; path: string; commit?: string };
  type Spec = Folder & { controlPlane?: Folder; workload?: Folder };
  type CaseObject = { kind: string; metadata: { name: string }; spec: Spec };

  const objectsIn = async (directory: string): Promise<readonly CaseObject[]> => {
    const files = (await readdir(directory, { recursive: true })).filter((file) => file.endsWith('.yaml'));
    const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
    return texts.flatMap((text) =>
      parseAllDocuments(text).flatMap((one) => (one.contents === null ? [] : [one.toJS() as CaseObject])),
    );
  };

  /** A case as its repositories: what each URL has on each branch, and the commit that its tree was recorded with. */
  const lay = async (name: string) => {
    const directory = await temporaryDirectory();
    const at = (...names: readonly string[]): string => join(directory, ...names);
    for (const layer of ['input', 'input-shim'])
      if (existsSync(join(kalypsoCases, name, layer)))
        await cp(join(kalypsoCases, name, layer), at('case'), { recursive: true });
    const branches = new Map<string, Map<string, string>>();
    const put = async ({ repo, branch, path }: Folder, from: string): Promise<void> => {
      const url = repo.replace(/\.git$/, '');
      const ofRepo = branches.get(url) ?? new Map<string, string>();
      branches.set(url, ofRepo);
      const folder = ofRepo.get(branch) ?? at('branches', `${branches.size}-${ofRepo.size}`);
      ofRepo.set(branch, folder);
      await cp(from, join(folder, path), { recursive: true });
    };
    const env = (await objectsIn(at('case/env'))).filter(
      ({ kind }) => kind === 'BaseRepo' || kind === 'GitOpsRepo',
    );
    const environment = env.find(({ kind }) => kind === 'GitOpsRepo')?.metadata.name ?? '';
    const [own] = (await objectsIn(at('case/environments'))).filter(
      ({ metadata }) => metadata.name === environment,
    );
    const bases = env.filter(({ kind }) => kind === 'BaseRepo');
    const main = bases.find(({ metadata }) => metadata.name === 'main')?.spec;
    if (!own?.spec.controlPlane || !main) throw new Error(`${name} has no control plane`);
    await put(main, at('case/base-main'));
    await put({ ...main, path: '.environments' }, at('case/environments'));
    await put(own.spec.controlPlane, at('case/env'));
    for (const base of bases)
      if (base.metadata.name !== 'main') await put(base.spec, at(`case/base-${base.metadata.name}`));
    for (const { kind, metadata, spec } of await objectsIn(at('case/base-main')))
      if (kind === 'WorkloadRegistration' && spec.workload)
        await put(spec.workload, at('case/workloads', metadata.name));
    return { at, branches, environment, controlPlane: own.spec.controlPlane, main };
  };

  test.for([
    'real-kaizen-prod',
    'real-microsoft-dev',
    'real-configuratix-dev',
    ...(LONG ? ['real-kaizen-stage', 'real-microsoft-stage'] : []),
  ])('%s: render writes the recorded tree, byte for byte', async (name) => {
    const { at, branches, environment, controlPlane, main } = await lay(name);
    const home = { ...ENV, HOME: at('home') };
    await mkdir(at('home'));
    const controlUrl = controlPlane.repo.replace(/\.git$/, '');
    let pinned = '';
    for (const [url, ofRepo] of branches) {
      const bare = at('git', `${url.replaceAll(/[^a-z0-9]+/gi, '-')}.git`);
      // The branch of the environment names a commit of main: main is made first, and is the default branch.
      const order = [...ofRepo].toSorted(
        (a, b) => Number(b[0] === main.branch) - Number(a[0] === main.branch),
      );
      const made = await makeGitRepository(bare, Object.fromEntries(order.slice(0, 1)));
      if (url === controlUrl) pinned = made[main.branch] ?? '';
      for (const [branch, files] of order.slice(1)) {
        // The recorded commit is one of the real repository; ours has another id, with the same files.
        if (url === controlUrl && main.commit) {
          const file =
            (await readdir(files, { recursive: true })).find((path) => /base-repo\.ya?ml$/.test(path)) ?? '';
          const text = await readFile(join(files, file), 'utf8');
          await writeFile(join(files, file), text.replace(main.commit, pinned));
        }
        await commitFolder(bare, branch, files);
      }
      await appendFile(at('home/.gitconfig'), `[url "file://${bare}"]\n\tinsteadOf = ${url}\n`);
    }
    const out = at('out');
    const words = [
      '--platform',
      controlUrl,
      '--environment',
      environment,
      '--out',
      out,
      '--cache',
      at('cache'),
    ];
    succeed(await runScheduler(at('.'), ['render', ...words], home));
    const recorded = await readTree(join(kalypsoCases, name, 'expected/gitops'));
    const tracking = '.github/tracking/Promoted_Commit_Id';
    const files = await readTree(out);
    if (main.commit) {
      expect(files[tracking]).toBe(pinned);
      expect(recorded[tracking]).toBe(main.commit);
    }
    expect({ ...files, [tracking]: '' }).toEqual({ ...recorded, [tracking]: '' });
  });
});
