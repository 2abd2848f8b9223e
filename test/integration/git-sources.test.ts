import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { formatError, isFleetError } from '../../bundles/errors.ts';
import { loadPlatform } from '../../scheduler/platform/load-platform.ts';
import type { SourceMap } from '../../scheduler/platform/sources/location.ts';
import { openSources } from '../../scheduler/platform/sources/open-sources.ts';
import { renderPlatform } from '../../scheduler/render/render-platform.ts';
import { renderTree } from '../../scheduler/render/render-tree.ts';
import { schedulePlatform } from '../../scheduler/schedule/schedule-platform.ts';
import { temporaryDirectory, writeFiles } from '../scheduler/file-tree.ts';
import { fleetPlatform } from '../scheduler/fleet-platform.ts';
import {
  CONTROL_PLANE,
  kalypsoDev,
  kalypsoMain,
  SHOP,
  shopRepository,
} from '../scheduler/kalypso-platform.ts';

const run = promisify(execFile);

/** Git without this machine's configuration: fixed author, fixed dates. */
const ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
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

/** Commits files to a branch of their own, without what other branches have. */
const commit = async (directory: string, branch: string, files: Record<string, string>): Promise<string> => {
  await mkdir(directory, { recursive: true });
  await git(directory, 'init', '--quiet', '--initial-branch', branch).catch(() => '');
  const known = await git(directory, 'branch', '--list', branch);
  if (known !== '') await git(directory, 'checkout', '--quiet', branch);
  else await git(directory, 'checkout', '--quiet', '--orphan', branch);
  await git(directory, 'rm', '-rfq', '--ignore-unmatch', '.');
  await writeFiles(directory, files);
  await git(directory, 'add', '--all');
  await git(directory, 'commit', '--quiet', '--message', `state of ${branch}`);
  return git(directory, 'rev-parse', 'HEAD');
};

const render = async (platform: string, maps: readonly SourceMap[], cache: string, env = ENV) => {
  const loaded = await loadPlatform({ platform, environment: 'dev', maps, cacheDirectory: cache, env });
  const result = renderPlatform(loaded, schedulePlatform(loaded));
  expect(result.held).toEqual([]);
  const files = [...renderTree(loaded, result)].map(([path, bytes]) => [path, bytes.toString()]);
  return { loaded, files: Object.fromEntries(files) as Record<string, string> };
};

test('a control plane in Git gives the tree that its directories give', async () => {
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

test('a platform of our form in a folder of a repository takes its applications from the same commit', async () => {
  const directory = await temporaryDirectory();
  const repo = join(directory, 'all');
  const first = await commit(repo, 'main', fleetPlatform());
  await git(repo, 'tag', 'r1');
  await commit(repo, 'main', { 'platform/fleet.yaml': '' });
  const options = { environment: 'prod', maps: [], cacheDirectory: join(directory, 'cache'), env: ENV };
  const loaded = await loadPlatform({ ...options, platform: `file://${repo}#r1:platform` });
  expect(loaded.targets.map(({ name, at }) => [name, at.file])).toEqual([
    ['shop-web', 'workload-shop/shop.yaml'],
  ]);
  expect(loaded.sources.map(({ role, commit, path }) => [role, commit, path])).toEqual([
    ['platform', first, 'platform'],
    ['workload/shop', first, 'apps/shop/deploy'],
  ]);
  await writeFiles(join(directory, 'plain'), fleetPlatform());
  const plain = await loadPlatform({ ...options, platform: join(directory, 'plain/platform') });
  expect(loaded.sources.map(({ tree }) => tree)).toEqual(plain.sources.map(({ tree }) => tree));
});

test('an application of a platform in Git cannot lie outside of the repository', async () => {
  const directory = await temporaryDirectory();
  const files = fleetPlatform();
  const shop = files['platform/base/shop.yaml']?.replace('../apps/shop', '../../../etc') ?? '';
  await commit(join(directory, 'all'), 'main', { ...files, 'platform/base/shop.yaml': shop });
  const platform = `file://${directory}/all#main:platform`;
  const options = { environment: 'prod', maps: [], cacheDirectory: join(directory, 'cache'), env: ENV };
  await expect(loadPlatform({ ...options, platform })).rejects.toMatchObject({
    code: 'FIELD_INVALID',
    at: { file: 'platform/base/shop.yaml', line: 7 },
  });
});

test('a password in a URL is neither shown nor kept', async () => {
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

test('a branch, a tag, a commit and a subfolder can be named', async () => {
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

test('all branches are of the moment at which the repository was first asked', async () => {
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

test('files come as they are committed: no line end is changed, no link is followed', async () => {
  const directory = await temporaryDirectory();
  const shop = join(directory, 'shop');
  await commit(shop, 'main', { 'one.yaml': 'a\nb\n' });
  await writeFile(join(shop, '.gitattributes'), '*.yaml text eol=crlf ident\n');
  await writeFile(join(directory, 'secret.yaml'), 'secret');
  await symlink(join(directory, 'secret.yaml'), join(shop, 'link.yaml'));
  await symlink(directory, join(shop, 'folder'));
  await git(shop, 'add', '--all');
  await git(shop, 'commit', '--quiet', '--message', 'links');
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const fromGit = await sources.read({
    role: 'base/x',
    location: sources.locate(`file://${shop}`, { kind: 'head' }),
    path: '.',
  });
  expect(fromGit.files.map((file) => [file.path, file.bytes.toString()])).toEqual([['one.yaml', 'a\nb\n']]);
  const location = { kind: 'directory', directory: shop, shown: 'shop' } as const;
  const plain = await sources.read({ role: 'base/x', location, path: '.' });
  expect(plain.files.map((file) => file.path)).toEqual(['one.yaml']);
  expect(plain.snapshot.tree).toBe(fromGit.snapshot.tree);
});

test('only the folder that is asked for is fetched, where the server can do that', async () => {
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

test('insteadOf of the user’s Git configuration works', async () => {
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

test('a repository that does not answer is named without its password, with git’s reason', async () => {
  const directory = await temporaryDirectory();
  const sources = openSources({ maps: [], cacheDirectory: join(directory, 'cache'), env: ENV });
  const location = sources.locate('https://user:s3cret@localhost:1/shop', { kind: 'head' });
  const error = await sources
    .read({ role: 'workload/shop', location, path: '.' })
    .catch((caught: unknown) => caught);
  expect(isFleetError(error, 'SOURCE_UNREACHABLE')).toBe(true);
  const said = isFleetError(error) ? formatError(error) : '';
  expect(said).toMatch(/^SOURCE_UNREACHABLE: https:\/\/localhost:1\/shop: .*fatal: .*--map/);
  expect(said).not.toContain('s3cret');
});

test('a branch, a commit or a folder that is not there is SOURCE_MISSING, and says what is', async () => {
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

test('a run that is stopped ends with ABORTED', async () => {
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
