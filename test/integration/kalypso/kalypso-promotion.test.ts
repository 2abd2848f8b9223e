import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  findKalypsoRoot,
  type KalypsoFlags,
  promoteInKalypso,
} from '../../../scheduler/commands/gate/promote-in-kalypso.ts';
import { deliverTrees } from '../../../scheduler/deliver/tree/deliver-trees.ts';
import { parseTreeTarget } from '../../../scheduler/deliver/tree/tree-target.ts';
import { sourcesOf } from '../../../scheduler/load/load-platform.ts';
import { platformOptions } from '../../../scheduler/load/platform/platform-options.ts';
import { problemsOf } from '../../../scheduler/model/problems.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { type ForgeServer, startForge } from '../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { kalypsoDev, kalypsoMain, shopRepository } from '../../scheduler/kalypso-platform.ts';

const TOKEN = 'a-token-that-nobody-may-see';

const environment = (name: string, repo: string): string => `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: ${name}}
spec: {controlPlane: {repo: ${repo}, branch: ${name}, path: .}}
`;

const gitOps = (repo: string, branch: string): string => `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: ${branch}}
spec: {repo: ${repo}, branch: ${branch}, path: .}
`;

/** Kalypso's three repositories behind HTTP: control plane (main, dev, stage), GitOps (dev, stage) and an application. */
const workshop = async () => {
  const root = await temporaryDirectory();
  const at = (...names: readonly string[]): string => join(root, ...names);
  const server = await startGitServer(at('git'));
  const plane = `${server.url}/org/control-plane.git`;
  const tree = `${server.url}/org/gitops.git`;
  const shop = `${server.url}/org/shop.git`;
  const bare = at('git/org/control-plane.git');
  await writeFiles(at('main'), {
    ...kalypsoMain(plane, shop),
    '.environments/dev.yaml': environment('dev', plane),
    '.environments/stage.yaml': environment('stage', plane),
  });
  await writeFiles(at('shop'), shopRepository());
  await writeFiles(at('tree'), { '.github/workflows/check-promote.yaml': 'on: push\n' });
  await makeGitRepository(at('git/org/shop.git'), { main: at('shop') });
  await makeGitRepository(at('git/org/gitops.git'), { dev: at('tree'), stage: at('tree') });
  const { main: first = '' } = await makeGitRepository(bare, { main: at('main') });
  for (const name of ['dev', 'stage']) {
    const files: Record<string, string> = {
      ...kalypsoDev(plane, first),
      'gitops-repo.yaml': gitOps(tree, name),
    };
    await writeFiles(at(name), { ...files, 'base-repo.yaml': `# the pin\n${files['base-repo.yaml']}` });
    await commitFolder(bare, name, at(name));
  }
  await writeFile(at('main/notes.md'), 'second\n');
  const second = await commitFolder(bare, 'main', at('main'));
  const forge = await startForge('github', bare, 'org/control-plane');
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1', FLEET_FORGE_TOKEN: TOKEN };
  const git = async (repository: string, ...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', repository, ...words], { env })).stdout.trim();
  const { signal } = new AbortController();
  const now = new Date('2026-11-23T08:00:00Z');
  const configuration = async () => ({
    ...(await readConfiguration({ platform: plane, cache: at('cache') }, root)),
    forge: `github=${forge.api}`,
  });
  /** The verb, as the program calls it. */
  const promote = async (to: string, flags: Partial<KalypsoFlags>, reason = 'tested `well`') => {
    const read = await configuration();
    const options = platformOptions(read, { cwd: root, env, signal });
    const sources = sourcesOf(options);
    const control = await findKalypsoRoot(options.platform, sources);
    if (!control) throw new Error('not in Kalypso’s form');
    const given = { 'pull-request': false, explain: false, reason, ...flags };
    const access = { ...options, sources, configuration: read, person: 'ada', now, signal };
    return await promoteInKalypso(control, to, given, access);
  };
  const publish = async (name: string): Promise<void> => {
    const [{ problems } = { problems: [new Error('nothing was delivered')] }] = await deliverTrees({
      ...platformOptions(await configuration(), { cwd: root, env, signal }),
      to: parseTreeTarget('gitops'),
      environments: [name],
      pullRequest: false,
      forge: undefined,
      connection: { plainHttp: [], env: {} },
      env,
      now,
      signal,
    });
    expect(problems).toEqual([]);
  };
  return {
    at,
    bare,
    first,
    second,
    forge,
    plane,
    tree,
    git,
    root,
    env,
    promote,
    publish,
    file: (branch: string, path = 'base-repo.yaml'): Promise<string> =>
      git(bare, 'show', `${branch}:${path}`),
    /** Somebody commits files to a branch of the control plane. */
    commit: async (branch: string, files: Record<string, string>): Promise<string> => {
      await writeFiles(at(branch), files);
      return await commitFolder(bare, branch, at(branch));
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await forge[Symbol.asyncDispose]();
    },
  };
};

const statusesOf = ({ statuses }: ForgeServer): readonly string[] =>
  statuses.map(
    ({ sha, context, state, description }) => `${sha} ${state} ${context}: ${String(description)}`,
  );

test("a commit is promoted to the first environment as by Kalypso's workflow, with its commit status", async () => {
  await using shop = await workshop();
  const before = await shop.git(shop.bare, 'rev-parse', 'dev');
  const done = await shop.promote('dev', { commit: shop.second });
  expect(done.problem).toBeUndefined();
  expect(done.lines).toEqual([
    `dev: BaseRepo main ${shop.first.slice(0, 12)} -> ${shop.second.slice(0, 12)}`,
    expect.stringMatching(/^dev: dev pushed [0-9a-f]{12}$/),
    `dev: status "dev environment" set on ${shop.second.slice(0, 12)}`,
  ]);
  expect(await shop.git(shop.bare, 'rev-parse', 'dev^')).toBe(before);
  expect(await shop.git(shop.bare, 'diff', '--name-only', `${before}..dev`)).toBe('base-repo.yaml');
  const file = `# the pin\n${kalypsoDev(shop.plane, shop.first)['base-repo.yaml']}`;
  expect(await shop.file('dev')).toBe(file.replace(`"${shop.first}"`, shop.second).trim());
  expect(statusesOf(shop.forge)).toEqual([`${shop.second} pending dev environment: Promoted`]);
  const again = await shop.promote('dev', { commit: shop.second });
  expect(again.lines).toContain('dev: dev has it already');
  expect(shop.forge.statuses).toHaveLength(1);
});

test('the next environment receives what the previous one delivers, as a pull request', async () => {
  await using shop = await workshop();
  await shop.promote('dev', { commit: shop.second });
  await shop.publish('dev');
  // dev's manifests are those of another commit.
  await shop.promote('dev', { commit: shop.first });
  await expect(shop.promote('stage', { from: 'dev' })).rejects.toMatchObject({
    code: 'GATE_CLOSED',
    message: `dev is pinned to ${shop.first.slice(0, 12)} and delivers ${shop.second.slice(0, 12)}`,
  });
  await shop.promote('dev', { commit: shop.second });

  const before = await shop.git(shop.bare, 'rev-parse', 'stage');
  const flags = { from: 'dev', 'pull-request': true };
  const shown = await shop.promote('stage', { ...flags, explain: true });
  expect(shown.lines).toContain('stage: stage would change');
  expect(shop.forge.pulls).toEqual([]);
  const proposed = await shop.promote('stage', flags);
  expect(proposed.json).toMatchObject({ outcome: 'proposed', from: 'dev', to: 'stage' });
  const [pull] = shop.forge.pulls;
  expect(pull).toMatchObject({ base: 'stage', state: 'open', labels: [] });
  expect(pull?.title).toBe(`Promote ${shop.second.slice(0, 12)} from dev to stage`);
  expect(pull?.body).toBe(`Decided by \`ada\`: \`tested  well \`

BaseRepo main, ${shop.plane} main
- from ${shop.first}
- to ${shop.second}`);
  expect(await shop.git(shop.bare, 'rev-parse', 'stage')).toBe(before);
  expect(await shop.git(shop.bare, 'diff', '--name-only', `stage..${pull?.head}`)).toBe('base-repo.yaml');
  expect(await shop.file(`${pull?.head}`)).toContain(`commit: ${shop.second}`);
  expect(statusesOf(shop.forge).at(-1)).toBe(`${shop.second} pending stage environment: Promotion proposed`);
  expect((await shop.promote('stage', flags)).lines.at(-1)).toContain('stage proposed already by');
  // Merged: the tree of stage goes out with the promoted commit.
  await shop.git(shop.bare, 'update-ref', 'refs/heads/stage', `refs/heads/${pull?.head}`);
  await shop.publish('stage');
  const tracking = '.github/tracking/Promoted_Commit_Id';
  expect(await shop.git(shop.at('git/org/gitops.git'), 'show', `stage:${tracking}`)).toBe(shop.second);
});

test("an environment without a BaseRepo receives the file that Kalypso's workflow writes", async () => {
  await using shop = await workshop();
  await shop.git(shop.bare, 'branch', '-D', 'stage');
  await writeFiles(shop.at('new'), { 'types/edge.yaml': kalypsoDev()['types/edge.yaml'] ?? '' });
  await commitFolder(shop.bare, 'stage', shop.at('new'));
  await shop.promote('stage', { from: 'dev' });
  expect(await shop.file('stage')).toBe(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
spec:
  repo: ${shop.plane}
  branch: main
  path: .
  commit: ${shop.first}`);
});

test('a commit with mistakes, a missing one and a branch name are not promoted', async () => {
  await using shop = await workshop();
  const before = await shop.git(shop.bare, 'rev-parse', 'dev');
  const broken = await shop.commit('main', {
    'templates/broken.yaml':
      'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: half\n',
  });
  const refusals = [
    ['dev', { commit: broken }, 'YAML_SYNTAX', ''],
    ['dev', { commit: '0'.repeat(40) }, 'SOURCE_MISSING', ''],
    ['dev', { commit: 'main' }, 'USAGE', 'main is not a whole commit id'],
    ['stage', {}, 'USAGE', 'the commit to promote to stage is missing'],
    ['stage', { from: 'dev', commit: '0'.repeat(40) }, 'USAGE', 'exclude each other'],
    ['qa', { from: 'dev' }, 'USAGE', 'the control plane has no environment qa'],
    ['stage', { from: 'dev', candidate: `sha256:${'a'.repeat(64)}` }, 'USAGE', 'commits and no candidates'],
  ] as const;
  for (const [to, flags, code, message] of refusals) {
    const thrown: unknown = await shop.promote(to, flags).catch((error: unknown) => error);
    const [first] = problemsOf(thrown);
    expect(first, `${to} ${JSON.stringify(flags)}`).toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  }
  expect(await shop.git(shop.bare, 'rev-parse', 'dev')).toBe(before);
  await shop.commit('dev', { 'base-repo.yaml': kalypsoDev(shop.plane)['base-repo.yaml'] ?? '' });
  await expect(shop.promote('stage', { from: 'dev' })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(shop.forge.statuses).toEqual([]);
});

test('promote reports a status that cannot be set without the token, and keeps the promotion', async () => {
  await using shop = await workshop();
  shop.forge.failNext = { status: 403, message: 'Resource not accessible by personal access token' };
  const { code, stderr, stdout } = await runScheduler(
    shop.root,
    [
      'promote',
      'dev',
      '--commit',
      shop.second,
      '--platform',
      shop.plane,
      '--cache',
      shop.at('cache'),
      '--forge',
      `github=${shop.forge.api}`,
      '--now',
      '2026-11-23T08:00:00Z',
    ],
    shop.env,
  );
  expect(stdout).toContain('dev pushed');
  expect(stderr).toContain('The promotion is written, but not its commit status');
  expect(stderr).toContain('Resource not accessible');
  expect(stderr + stdout).not.toContain(TOKEN);
  expect(code).toBe(5);
});
