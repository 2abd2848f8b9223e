import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { differs, type EnvironmentDiff } from '../../../scheduler/views/diff/compare-environments.ts';
import { type DiffOptions, diffPlatform } from '../../../scheduler/views/diff/diff-platform.ts';
import { formatDiff } from '../../../scheduler/views/diff/format-diff.ts';
import { parseMap } from '../../../scheduler/model/location.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { kalypsoDev, kalypsoMain, shopRepository } from '../../scheduler/kalypso-platform.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');

const setup = async () => {
  const root = await temporaryDirectory();
  const at = (...names: readonly string[]): string => join(root, ...names);
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const diff = (options: Partial<DiffOptions> & { platform: string }): Promise<readonly EnvironmentDiff[]> =>
    diffPlatform({
      maps: [],
      cacheDirectory: at('cache'),
      env,
      signal: new AbortController().signal,
      ...options,
    });
  const git = async (...words: readonly string[]): Promise<string> =>
    (
      await runOrFail(['git', '-c', 'user.name=T', '-c', 'user.email=t@example.com', ...words], { env })
    ).stdout.trim();
  return { at, env, diff, git };
};

const outcomes = (diffs: readonly EnvironmentDiff[]) =>
  diffs.map(({ environment, clusterTypes }) => [
    environment,
    ...clusterTypes.flatMap(({ clusterType, assignments }) =>
      assignments.flatMap(({ assignment, objects }) =>
        objects.map(({ object, outcome }) => `${clusterType}/${assignment} ${object} ${outcome}`),
      ),
    ),
  ]);

describe('diff of a Kalypso control plane', () => {
  const controlPlane = async () => {
    const shop = await setup();
    const { at } = shop;
    const url = `file://${at('control-plane.git')}`;
    const urls = [url, `file://${at('shop.git')}`] as const;
    await writeFiles(at('main'), kalypsoMain(...urls));
    await writeFiles(at('shop'), shopRepository());
    await makeGitRepository(at('shop.git'), { main: at('shop') });
    const { main = '' } = await makeGitRepository(at('control-plane.git'), { main: at('main') });
    await writeFiles(at('dev'), kalypsoDev(url, main));
    await commitFolder(at('control-plane.git'), 'dev', at('dev'));
    return { ...shop, url };
  };

  test("of two refs of an environment's branch differs in the content of that branch", async () => {
    const { at, diff, url } = await controlPlane();
    const config = (kalypsoDev()['configs/eu.yaml'] ?? '').replace('eu.example.com', 'new.example.com');
    await writeFiles(at('dev'), { 'configs/eu.yaml': config });
    await commitFolder(at('control-plane.git'), 'feature', at('dev'));
    const diffs = await diff({ platform: url, from: 'dev', to: 'feature' });
    expect(formatDiff(diffs)).toBe(`dev
  edge: 0 created, 1 configured, 0 deleted, 2 unchanged

--- a/edge/shop-web/platform-config.yaml
+++ b/edge/shop-web/platform-config.yaml
@@ -1,1 +1,1 @@
-url: https://eu.example.com
+url: https://new.example.com
`);
  });

  test('of two refs of the base shows what a promotion would change, with any pinned commit', async () => {
    const { at, diff, url } = await controlPlane();
    const templates = (kalypsoMain()['templates/all.yaml'] ?? '').replace('target: ', 'goal: ');
    await writeFiles(at('main'), { 'templates/all.yaml': templates });
    await commitFolder(at('control-plane.git'), 'feature', at('main'));
    const expected = [['dev', 'edge/shop-web reconciler.yaml configured']];
    expect(outcomes(await diff({ platform: url, from: 'main', to: 'feature' }))).toEqual(expected);
    // A commit stands for the branch that the platform is read from, or for the one that is named.
    const commit = await commitFolder(at('control-plane.git'), 'other', at('main'));
    expect(outcomes(await diff({ platform: url, from: 'main', to: commit }))).toEqual(expected);
    expect(outcomes(await diff({ platform: url, from: commit, to: 'main', branch: 'main' }))).toEqual(
      expected,
    );
    await expect(diff({ platform: url, from: 'main', to: 'feature', branch: 'none' })).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  test('outside of a Git repository is refused as USAGE', async () => {
    const { at, diff } = await setup();
    await cp(join(EXAMPLES, 'platform'), at('platform'), { recursive: true });
    await cp(join(EXAMPLES, 'apps'), at('apps'), { recursive: true });
    await expect(diff({ platform: at('platform') })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('is in no Git repository') as string,
    });
  });

  test('with a broken ref has its problems, and no other difference', async () => {
    const { at, diff, url } = await controlPlane();
    await writeFiles(at('broken'), {
      ...kalypsoDev(url),
      'types/edge.yaml': 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: [',
    });
    await commitFolder(at('control-plane.git'), 'broken', at('broken'));
    const [dev] = await diff({ platform: url, from: 'dev', to: 'broken' });
    expect(dev?.problems.map(({ code }) => code)).toContain('YAML_SYNTAX');
    expect(dev && differs(dev)).toBe(true);
  });

  test('in directories with --map is compared with the committed state', async () => {
    const { at, diff, git, url } = await controlPlane();
    await git('clone', '--quiet', at('control-plane.git'), at('work-main'));
    await git('clone', '--quiet', '--branch', 'dev', at('control-plane.git'), at('work-dev'));
    const maps = [`${url}#dev=${at('work-dev')}`, `${url}=${at('work-main')}`].map(parseMap);
    const platform = at('work-main');
    expect((await diff({ platform, maps })).some(differs)).toBe(false);
    const file = at('work-dev/configs/eu.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('eu.example.com', 'new.example.com'));
    expect(outcomes(await diff({ platform, maps }))).toEqual([
      ['dev', 'edge/shop-web platform-config.yaml configured'],
    ]);
    expect(outcomes(await diff({ platform, maps, from: 'dev' }))).toEqual([
      ['dev', 'edge/shop-web platform-config.yaml configured'],
    ]);
  });
});

describe('diff of a Fleet Ferry platform', () => {
  const company = async () => {
    const shop = await setup();
    const { at, git } = shop;
    await cp(join(EXAMPLES, 'platform'), at('all/platform'), { recursive: true });
    await cp(join(EXAMPLES, 'apps'), at('all/apps'), { recursive: true });
    const file = at('all/fill');
    await writeFile(file, '');
    await git('init', '--quiet', '--initial-branch', 'main', at('all'));
    await git('-C', at('all'), 'add', '--all');
    await git('-C', at('all'), 'commit', '--quiet', '--message', 'all');
    return shop;
  };

  test('in a working directory is compared with its last commit, with the objects of applications', async () => {
    const { at, diff, git } = await company();
    const platform = at('all/platform');
    expect((await diff({ platform, environments: ['dev'] })).some(differs)).toBe(false);
    const found = await git('-C', at('all'), 'grep', '-l', 'kind: Deployment', '--', 'apps');
    const file = at('all', found.split('\n')[0] ?? '');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^( *)replicas: .*$/m, '$1replicas: 7'));
    const diffs = await diff({ platform });
    expect(diffs.map(({ environment }) => environment)).toEqual(['dev', 'qa', 'prod']);
    expect(formatDiff(diffs)).toMatch(/^\+ {2}replicas: 7$/m);
    expect(formatDiff(diffs)).toMatch(/^--- a\/[a-z-]+\/[a-z-]+\/Deployment\.apps /m);
    // The other way round, between two commits, by URL.
    await git('-C', at('all'), 'commit', '--quiet', '--all', '--message', 'seven');
    const url = `file://${at('all')}#main:platform`;
    const before = await git('-C', at('all'), 'rev-parse', 'HEAD~1');
    const environments = ['dev'];
    const expected = outcomes(diffs).slice(0, 1);
    expect(outcomes(await diff({ platform: url, from: before, to: 'main', environments }))).toEqual(expected);
    expect(outcomes(await diff({ platform, from: 'HEAD~1', to: 'HEAD', environments }))).toEqual(expected);
    await expect(diff({ platform, from: 'nowhere' })).rejects.toMatchObject({ code: 'SOURCE_MISSING' });
    await expect(diff({ platform: url })).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('is printed as text, JSON or Markdown, with an exit code', async () => {
    const { at, env, git } = await company();
    const run = (...words: readonly string[]) =>
      runScheduler(at('all'), ['diff', '--cache', at('cache'), '--platform', 'platform', ...words], env);
    expect(await run('--exit-code', '--environment', 'dev')).toMatchObject({ code: 0, stderr: '' });
    const found = await git('-C', at('all'), 'grep', '-l', 'kind: Deployment', '--', 'apps');
    const file = at('all', found.split('\n')[0] ?? '');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^( *)replicas: .*$/m, '$1replicas: 7'));
    expect(await run('--environment', 'dev')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^dev\n {2}/),
    });
    const json = await run('--json', '--exit-code', '--environment', 'dev');
    expect(json.code).toBe(8);
    expect(JSON.parse(json.stdout)).toMatchObject({ environments: [{ environment: 'dev', problems: [] }] });
    const markdown = await run('--markdown', '--environment', 'dev');
    expect(markdown.stdout).toMatch(/^### Rendered changes: dev\n\n\| cluster type /);
    expect(markdown.stdout).toContain('```diff');
    expect((await run('--environment', 'none')).code).toBe(3);
  });
});
