import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { registryOptions } from '../../../bundles/transport/registry/registry-access.ts';
import { assignmentChanges } from '../../../scheduler/author/check/assignment-changes.ts';
import {
  findLayer,
  planChange,
  planNew,
  type PlannedEdit,
} from '../../../scheduler/author/place/plan-edit.ts';
import type { Layer } from '../../../scheduler/author/place/layer.ts';
import { prepareEdit, refuseMistakes } from '../../../scheduler/author/prepare-edit.ts';
import { saveEdit } from '../../../scheduler/author/save/save-edit.ts';
import { problemsOf } from '../../../scheduler/model/problems.ts';
import { startForge } from '../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { readTree, temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform } from '../fleet-platform.ts';
import { kalypsoDev, kalypsoMain, shopRepository } from '../kalypso-platform.ts';

const TYPE = (name: string, labels: object) => ({
  apiVersion: 'fleet-ferry/v1alpha1',
  kind: 'ClusterType',
  metadata: { name, labels },
  spec: {},
});

const options = (root: string, platform: string, env: NodeJS.ProcessEnv) => ({
  platform,
  maps: [],
  cacheDirectory: join(root, 'cache'),
  env,
  signal: new AbortController().signal,
});

const saving = (root: string, env: NodeJS.ProcessEnv, more: object = {}) => ({
  ...options(root, '', env),
  forge: undefined,
  connection: registryOptions({ plainHttp: [], authFile: undefined, caFile: undefined, env }),
  identity: { committer: 'Fleet Ferry <fleet@example.com>', sign: false },
  now: new Date('2026-11-29T10:00:00Z'),
  person: 'Ada (OIDC login.example)',
  reason: 'a new `line`',
  pullRequest: false,
  ...more,
});

const changesOf = (prepared: Awaited<ReturnType<typeof prepareEdit>>) =>
  assignmentChanges(prepared.check.environments).map(
    ({ environment, clusterType, assignment, outcome }) =>
      `${environment}: ${clusterType}/${assignment} ${outcome}`,
  );

const inBase =
  (object: ReturnType<typeof TYPE>) =>
  (layers: readonly Layer[]): PlannedEdit =>
    planNew(findLayer(layers, 'base'), object);

test('a directory gets the new file once the platform with it is right, and names the assignments that it adds', async () => {
  const root = await temporaryDirectory();
  await writeFiles(root, fleetPlatform());
  const platform = join(root, 'platform');
  const before = await readTree(platform);
  const prepared = await prepareEdit(options(root, platform, {}), inBase(TYPE('line', { region: 'eu' })));
  refuseMistakes(prepared);
  expect(changesOf(prepared)).toEqual(['qa: line/shop-web created', 'prod: line/shop-web created']);
  expect(await readTree(platform)).toEqual(before);

  const done = await saveEdit(prepared.edit, saving(root, {}));
  expect(done).toMatchObject({ outcome: 'written', files: ['base/line.yaml'] });
  const { 'base/line.yaml': text, ...others } = await readTree(platform);
  expect(others).toEqual(before);
  expect(text).toBe(
    'apiVersion: fleet-ferry/v1alpha1\nkind: ClusterType\nmetadata:\n  name: line\n  labels:\n    region: eu\nspec: {}\n',
  );
  await expect(saveEdit(prepared.edit, saving(root, {}))).rejects.toMatchObject({ code: 'EDIT_CONFLICT' });
});

test('what validate refuses is refused with its place, and what was wrong before is not', async () => {
  const root = await temporaryDirectory();
  const wrong = 'apiVersion: fleet-ferry/v1alpha1\nkind: Config\nmetadata: {name: odd}\nspec: {valeus: {}}\n';
  await writeFiles(root, { ...fleetPlatform(), 'platform/environments/qa/odd.yaml': wrong });
  const platform = join(root, 'platform');
  const bad = { ...TYPE('line', { region: 'eu' }), spec: { configType: 'nowhere' } };
  const refused = await prepareEdit(options(root, platform, {}), inBase(bad));
  expect(refused.check.problems.map(formatError).join('\n').replaceAll(root, '')).toContain(
    '/platform/base/line.yaml:8:15: REFERENCE_MISSING: ClusterType line: ',
  );
  expect(() => refuseMistakes(refused)).toThrow(expect.objectContaining({ code: 'REFERENCE_MISSING' }));
  const fine = await prepareEdit(options(root, platform, {}), inBase(TYPE('line', { region: 'eu' })));
  refuseMistakes(fine);
  expect(fine.check.known.map(({ at }) => at?.line)).toEqual([4, 4]);
  expect(changesOf(fine)).toEqual(['prod: line/shop-web created']);
});

/** A platform of our form, and one of Kalypso's, behind HTTP. */
const repositories = async () => {
  const root = await temporaryDirectory();
  const server = await startGitServer(join(root, 'git'));
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    FLEET_FORGE_TOKEN: 'a-token-that-nobody-may-see',
  };
  const bare = join(root, 'git/org/platform.git');
  await writeFiles(root, fleetPlatform());
  await makeGitRepository(bare, { main: root.concat('/platform') });
  await writeFiles(join(root, 'whole'), fleetPlatform());
  await commitFolder(bare, 'main', join(root, 'whole'), { message: 'The platform' });
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const url = `${server.url}/org/platform.git#main:platform`;
  return { root, server, env, bare, git, url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
};

test('a repository gets a commit whose author is the person, and a file that another changed meanwhile is refused with who and what', async () => {
  await using place = await repositories();
  const { root, env, git, url } = place;
  const change = (value: number) =>
    prepareEdit(options(root, url, env), (layers) =>
      planChange(findLayer(layers, 'base'), {
        kind: 'Config',
        name: 'defaults',
        set: [[['spec', 'values', 'PORT'], value]],
      }),
    );
  const [mine, theirs] = [await change(81), await change(82)];
  refuseMistakes(mine);
  expect(changesOf(mine)).toEqual([
    'qa: edge/shop-web configured',
    'qa: press/shop-web configured',
    'prod: edge/shop-web configured',
    'prod: press/shop-web configured',
  ]);
  expect(await saveEdit(mine.edit, saving(root, env))).toMatchObject({
    outcome: 'pushed',
    files: ['platform/base/config.yaml'],
    commit: await git('rev-parse', 'main'),
  });
  expect(await git('log', '-1', '--format=%an <%ae>|%cn <%ce>|%s', 'main')).toBe(
    'Ada (OIDC login.example) <fleet@example.com>|Fleet Ferry <fleet@example.com>|Change Config defaults',
  );
  expect(await git('show', 'main', '--format=%B', '--unified=0')).toContain(
    'Edited by `Ada (OIDC login.example)`: `a new  line `',
  );
  expect(await git('show', 'main', '--format=', '--numstat')).toBe('1\t1\tplatform/base/config.yaml');

  const refused = await saveEdit(theirs.edit, saving(root, env)).catch(
    (error: unknown) => problemsOf(error)[0],
  );
  expect(refused).toMatchObject({
    code: 'EDIT_CONFLICT',
    message: expect.stringMatching(
      /^Ada \(OIDC login\.example\) changed it meanwhile, at .*: Change Config defaults \(/,
    ),
    at: { file: expect.stringMatching(/#main:platform\/base\/config\.yaml$/) },
  });
});

test('two people propose two edits, each as a pull request of its own, once', async () => {
  await using place = await repositories();
  const { root, env, git, url, bare } = place;
  await using forge = await startForge('github', bare, 'org/platform');
  const propose = async (name: string, person: string) => {
    const prepared = await prepareEdit(options(root, url, env), inBase(TYPE(name, { region: 'eu' })));
    return await saveEdit(
      prepared.edit,
      saving(root, env, { pullRequest: true, forge: `github=${forge.api}`, person }),
    );
  };
  const first = await propose('line', 'ada@example.com');
  expect(first).toMatchObject({ outcome: 'proposed', pullRequest: expect.stringContaining('/pull') });
  expect(await propose('line', 'ada@example.com')).toEqual({ ...first, outcome: 'unchanged' });
  const second = await propose('oven', 'bob@example.com');
  expect(second.proposal).not.toBe(first.proposal);
  expect(forge.pulls.map(({ title, state, base }) => [title, state, base])).toEqual([
    ['Create ClusterType line', 'open', 'main'],
    ['Create ClusterType oven', 'open', 'main'],
  ]);
  expect(await git('log', '-1', '--format=%an <%ae>', String(first.proposal))).toBe(
    'ada@example.com <ada@example.com>',
  );
  expect(await git('show', '--format=', '--name-only', String(second.proposal))).toBe(
    'platform/base/oven.yaml',
  );
  expect([...forge.authorizations]).toEqual([`Bearer ${env.FLEET_FORGE_TOKEN}`]);
});

test("in Kalypso's form an edit goes to the branch of the environment, or of the base that it is pinned to", async () => {
  const root = await temporaryDirectory();
  await using server = await startGitServer(join(root, 'git'));
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const plane = `${server.url}/org/plane.git`;
  const bare = join(root, 'git/org/plane.git');
  await writeFiles(join(root, 'main'), kalypsoMain(plane, `${server.url}/org/shop.git`));
  await writeFiles(join(root, 'shop'), shopRepository());
  await makeGitRepository(join(root, 'git/org/shop.git'), { main: join(root, 'shop') });
  const { main = '' } = await makeGitRepository(bare, { main: join(root, 'main') });
  await writeFiles(join(root, 'dev'), {
    ...kalypsoDev(plane, main),
    'policies/kustomization.yaml': 'resources:\n- all.yaml\n',
  });
  await commitFolder(bare, 'dev', join(root, 'dev'));
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const type = {
    apiVersion: 'scheduler.kalypso.io/v1alpha1',
    kind: 'ClusterType',
    metadata: { name: 'line', labels: { region: 'eu' } },
    spec: { reconciler: 'rec', namespaceService: 'ns', configType: 'cfg' },
  };
  const template = {
    apiVersion: 'scheduler.kalypso.io/v1alpha1',
    kind: 'Template',
    metadata: { name: 'plain' },
    spec: { type: 'config', manifests: ['a: {{ .Namespace }}\n'] },
  };
  const inLayer = (layer: string, object: object) =>
    prepareEdit(options(root, plane, env), (layers) => planNew(findLayer(layers, layer), { ...object }));

  const prepared = await inLayer('environments/dev', type);
  refuseMistakes(prepared);
  expect(changesOf(prepared)).toEqual(['dev: line/shop-web created']);
  await saveEdit(prepared.edit, saving(root, env));
  expect(await git('show', '--format=', '--name-only', 'dev')).toBe('types/line.yaml');

  const policy = { ...type, kind: 'SchedulingPolicy', metadata: { name: 'more' } };
  const spec = {
    deploymentTargetSelector: { workspace: 'team-one', labelSelector: {} },
    clusterTypeSelector: { labelSelector: {} },
  };
  const listed = await inLayer('environments/dev', { ...policy, spec });
  refuseMistakes(listed);
  expect(listed.edit.files.map(({ path, bytes }) => [path, bytes.toString().split('\n').length])).toEqual([
    ['policies/more.yaml', 11],
    ['policies/kustomization.yaml', 4],
  ]);

  const shared = await inLayer('base/main', template);
  refuseMistakes(shared);
  await saveEdit(shared.edit, saving(root, env));
  expect(await git('show', '--format=', '--name-only', 'main')).toBe('templates/all.yaml');
  expect(await git('show', 'main:templates/all.yaml')).toContain(
    (await readFile(join(root, 'main/templates/all.yaml'), 'utf8')).trim(),
  );
});
