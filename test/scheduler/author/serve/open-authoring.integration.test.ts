import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAuthoring } from '../../../../scheduler/author/serve/open-authoring.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { startForge } from '../../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../../harness/neighbours/git-server.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';
import { type Caller, decisionServer } from '../../hub/http/decisions/decision-server.ts';

const TOKEN = 'a-token-that-nobody-may-see';
const HIDDEN = 'hunter2-is-withheld';

/** A hub whose platform is a repository behind HTTP, with a forge; and its platform as a folder that others commit from. */
const hubWithRepository = async () => {
  const root = await temporaryDirectory();
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startGitServer(join(root, 'git')));
  const bare = join(root, 'git/org/platform.git');
  const folder = join(root, 'work');
  await writeFiles(folder, {
    ...fleetPlatform(),
    'platform/base/shared.yaml': ours('Config', 'shared', `spec:\n  values: {adminPassword: ${HIDDEN}}\n`),
  });
  await makeGitRepository(bare, { main: folder }, { message: 'The platform' });
  const forge = stack.use(await startForge('github', bare, 'org/platform'));
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1', FLEET_FORGE_TOKEN: TOKEN };
  const configuration = {
    ...(await readConfiguration(
      {
        platform: `http://ada:${HIDDEN}@${server.url.slice('http://'.length)}/org/platform.git#main:platform`,
        cache: join(root, 'cache'),
      },
      root,
    )),
    forge: `github=${forge.api}`,
  };
  const { signal } = new AbortController();
  const clock = () => new Date('2026-11-29T10:00:00Z');
  const hub = stack.use(
    await decisionServer({ authoring: openAuthoring({ configuration, env, cwd: root, clock, signal }) }),
  );
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  return { hub, forge, git, bare, folder, [Symbol.asyncDispose]: () => stack.disposeAsync() };
};

const EDGE = { layer: 'base', kind: 'ClusterType', name: 'edge' };
const ask = (caller: Caller, wanted: Readonly<Record<string, string>>) =>
  caller.get(`/v1/platform/object?${new URLSearchParams(wanted).toString()}`);

const line = (labels: object = { region: 'eu' }) => ({
  apiVersion: 'fleet-ferry/v1alpha1',
  kind: 'ClusterType',
  metadata: { name: 'line', labels },
  spec: {},
});

test('a person creates a cluster type: preview with the assignments that it adds, then a pull request by that person', async () => {
  await using place = await hubWithRepository();
  const { hub, forge, git } = place;
  const caller = await hub.caller('author:*');
  const platform = await caller.get('/v1/platform');
  expect(platform.json).toMatchObject({
    form: 'fleet',
    canSave: true,
    advice: null,
    opensPullRequests: true,
  });
  expect(JSON.stringify(platform.json)).not.toContain(HIDDEN);
  expect((platform.json['layers'] as { name: string }[]).map(({ name }) => name)).toEqual([
    'root',
    'base',
    'promotion',
    'environments/qa',
    'environments/prod',
  ]);

  const before = await git('rev-parse', 'main');
  const edit = { layer: 'base', object: line() };
  const preview = await caller.post('/v1/platform/preview', edit);
  expect(preview).toMatchObject({
    status: 200,
    json: {
      subject: 'ClusterType line',
      outcome: 'created',
      problems: [],
      files: [{ file: 'platform/base/line.yaml' }],
      assignments: [
        { environment: 'qa', clusterType: 'line', assignment: 'shop-web', outcome: 'created' },
        { environment: 'prod', clusterType: 'line', assignment: 'shop-web', outcome: 'created' },
      ],
    },
  });
  expect(await git('for-each-ref', '--format=%(objectname)')).toBe(before);

  const saved = await caller.post('/v1/platform/edits', { ...edit, reason: 'a line for the north' });
  expect(saved).toMatchObject({
    status: 200,
    json: { outcome: 'proposed', commit: null, files: ['platform/base/line.yaml'] },
  });
  expect(await git('rev-parse', 'main')).toBe(before);
  const proposal = String(saved.json['proposal']);
  expect(await git('show', proposal, '--format=%an|%s|%b', '--name-only')).toMatch(
    /^ci\|Create ClusterType line\|Edited by `ci`: `a line for the north`[^]*platform\/base\/line\.yaml$/,
  );
  expect(forge.pulls).toMatchObject([{ title: 'Create ClusterType line', base: 'main', head: proposal }]);
  expect(JSON.stringify([preview.json, saved.json, forge.pulls])).not.toMatch(
    new RegExp(`${TOKEN}|${HIDDEN}`),
  );
});

test('an object is edited with its comments, by a commit; the second of two editors sees who was first, and with what', async () => {
  await using place = await hubWithRepository();
  const { hub, git, bare, folder } = place;
  const caller = await hub.caller('author:*');
  const { json } = await ask(caller, EDGE);
  expect(json).toMatchObject({ file: 'platform/base/edge.yaml', value: { kind: 'ClusterType' } });
  const value = json['value'] as { metadata: object };
  const object = { ...value, metadata: { name: 'edge', labels: { region: 'us' } } };
  const edit = { layer: 'base', object, seen: json['seen'], reason: 'moved' };

  const text = `# ours\n${String(json['text'])}`;
  await writeFiles(folder, { 'platform/base/edge.yaml': text });
  await commitFolder(bare, 'main', folder, { message: 'A comment' });
  const refused = await caller.post('/v1/platform/edits', edit);
  expect(refused).toMatchObject({ status: 409, code: 'EDIT_CONFLICT' });
  expect(refused.json['detail']).toMatch(
    /^Fleet Ferry changed it meanwhile, at .*: A comment \([0-9a-f]{12}\)$/,
  );
  expect(
    await caller.post('/v1/platform/preview', { layer: 'base', object, seen: json['seen'] }),
  ).toMatchObject({
    status: 409,
  });

  const again = await ask(caller, EDGE);
  const saved = await caller.post('/v1/platform/edits', {
    ...edit,
    seen: again.json['seen'],
    pullRequest: false,
  });
  expect(saved.json).toMatchObject({ outcome: 'pushed', commit: await git('rev-parse', 'main') });
  expect(`${await git('show', 'main:platform/base/edge.yaml')}\n`).toBe(
    text.replace('region: eu', 'region: us'),
  );
  expect(
    await caller.post('/v1/platform/edits', { layer: 'base', object: line(), seen: 'sha256:0', reason: 'x' }),
  ).toMatchObject({
    code: 'EDIT_CONFLICT',
  });
  expect(await caller.post('/v1/platform/edits', { layer: 'base', object, reason: 'x' })).toMatchObject({
    code: 'NAME_CLASH',
  });
});

test('text is edited as a whole file, and mistakes come back at their lines', async () => {
  await using place = await hubWithRepository();
  const { hub, git } = place;
  const caller = await hub.caller('author:*');
  const { json } = await ask(caller, EDGE);
  const file = 'platform/base/edge.yaml';
  const wrong = { layer: 'base', file, text: `${String(json['text'])}  toaster: 1\n`, seen: json['seen'] };
  const { json: preview } = await caller.post('/v1/platform/preview', wrong);
  expect(preview['problems']).toMatchObject([{ code: 'YAML_SYNTAX', line: 7 }]);
  const before = await git('rev-parse', 'main');
  const refused = await caller.post('/v1/platform/edits', { ...wrong, reason: 'x' });
  expect(refused).toMatchObject({ status: 400, code: 'YAML_SYNTAX' });
  expect(await git('rev-parse', 'main')).toBe(before);
  expect(await caller.post('/v1/platform/preview', { layer: 'base' })).toMatchObject({ code: 'USAGE' });
  expect(
    await caller.post('/v1/platform/preview', { layer: 'base', file, text: 'x'.repeat(300_000) }),
  ).toMatchObject({ status: 400, code: 'SCHEMA' });
});

test('H60: without the right nothing of the repository is answered, and an environment’s author has that environment alone', async () => {
  await using place = await hubWithRepository();
  const { hub, git } = place;
  const before = await git('rev-parse', 'main');
  const strangers = [
    await hub.reader(),
    await hub.caller('promote:*', 'read:*'),
    await hub.caller('author:dev'),
  ];
  for (const caller of strangers) {
    for (const answer of [
      await ask(caller, EDGE),
      await caller.post('/v1/platform/preview', { layer: 'base', object: line() }),
      await caller.post('/v1/platform/edits', { layer: 'base', object: line(), reason: 'x' }),
    ])
      expect(answer).toMatchObject({ status: 403, code: 'TOKEN_SCOPE' });
  }
  expect(await hub.callerWith('ffd_nobody').get('/v1/platform')).toMatchObject({ status: 401 });
  const prod = await hub.caller('author:prod');
  const { json } = await prod.get('/v1/platform');
  expect((json['layers'] as { name: string }[]).map(({ name }) => name)).toEqual(['environments/prod']);
  const config = {
    apiVersion: 'fleet-ferry/v1alpha1',
    kind: 'Config',
    metadata: { name: 'loud' },
    spec: { values: { LOG: 'debug' } },
  };
  const own = await prod.post('/v1/platform/preview', { layer: 'environments/prod', object: config });
  expect(own.json).toMatchObject({ outcome: 'created', problems: [] });
  for (const layer of ['environments/qa', 'environments/../base', 'base', 'root'])
    expect(await prod.post('/v1/platform/preview', { layer, object: config })).toMatchObject({ status: 403 });
  expect(await git('for-each-ref', '--format=%(objectname)')).toBe(before);
});

test('H60: a path that leads out of the folder of a layer is refused', async () => {
  await using place = await hubWithRepository();
  const caller = await place.hub.caller('author:*');
  for (const path of ['../x.yaml', 'platform/environments/qa/x.yaml', '/etc/x.yaml', 'platform/base/x.sh'])
    expect(
      await caller.post('/v1/platform/preview', { layer: 'base', file: path, text: 'a: 1' }),
    ).toMatchObject({
      code: 'FIELD_INVALID',
    });
});

test('H61: secret values are withheld: their file is neither shown nor edited', async () => {
  await using place = await hubWithRepository();
  const caller = await place.hub.caller('author:*');
  const { json } = await ask(caller, { layer: 'base', kind: 'Config', name: 'shared' });
  expect(json).toMatchObject({ file: 'platform/base/shared.yaml', text: null, value: null });
  const object = {
    apiVersion: 'fleet-ferry/v1alpha1',
    kind: 'Config',
    metadata: { name: 'shared' },
    spec: { values: {} },
  };
  const refused = await caller.post('/v1/platform/preview', { layer: 'base', object, seen: json['seen'] });
  expect(refused).toMatchObject({ code: 'FIELD_INVALID' });
  expect(JSON.stringify([json, refused])).not.toContain(HIDDEN);
});

test('a hub whose platform is a folder previews, and names how to connect a repository instead of saving', async () => {
  const root = await temporaryDirectory();
  await writeFiles(root, fleetPlatform());
  const configuration = await readConfiguration(
    { platform: join(root, 'platform'), cache: join(root, 'cache') },
    root,
  );
  const { signal } = new AbortController();
  const authoring = openAuthoring({
    configuration,
    env: process.env,
    cwd: process.cwd(),
    clock: () => new Date(),
    signal,
  });
  await using hub = await decisionServer({ authoring });
  const caller = await hub.caller('author:*');
  const { json } = await caller.get('/v1/platform');
  expect(json).toMatchObject({
    canSave: false,
    advice: expect.stringContaining('Set platform: in fleet-scheduler.yaml'),
  });
  const edit = { layer: 'base', object: line() };
  expect((await caller.post('/v1/platform/preview', edit)).json).toMatchObject({ outcome: 'created' });
  expect(await caller.post('/v1/platform/edits', { ...edit, reason: 'x' })).toMatchObject({
    status: 400,
    code: 'USAGE',
    json: { hint: expect.stringContaining('Set platform:') },
  });
});
