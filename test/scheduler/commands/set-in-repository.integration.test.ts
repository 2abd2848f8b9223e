import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setInRepository } from '../../../scheduler/commands/sites/set-in-repository.ts';
import { decideValues } from '../../../scheduler/hub/promote/values/change-values.ts';
import { setValues } from '../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { startForge } from '../../harness/neighbours/forge-server.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { openAuthoring } from '../../../scheduler/author/serve/open-authoring.ts';
import type { Authoring } from '../../../scheduler/hub/http/authoring/authoring.ts';
import type { SelectedValues } from '../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { digestOf } from '#bundles/digest';
import { givenDigest } from '#bundles/formats/events/local-value';
import { addDays, formatTime } from '#bundles/time';
import { decideLocalEdits } from '../../../scheduler/hub/promote/values/decide-local-edits.ts';
import { createLocalAnswerer } from '../../../scheduler/hub/serve/answer-local-edits.ts';
import { readLocalEdits } from '../../../scheduler/hub/sites/local-edits.ts';
import { testServer } from '../hub/serve/test-server.ts';
import type { TestHub } from '../hub/test-hub.ts';
import { writeFiles } from '../file-tree.ts';
import { config, LAYERS, layeredHub } from '../hub/sites/layers/layered-hub.ts';
import { openLayout } from '#bundles/formats/layout/layout';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { NOW } from '../release/removals/office.ts';

const NORTH = `${config('company', 'siteSelector: {}\n  values: {gatewayHost: company}')}---
# Who asks: the network team
${config('north', 'siteSelector: {region: north}\n  values:\n    port: 80 # plain')}`;

/** A hub with two sites, and the repository of its platform behind HTTP. */
const repository = async (decidedBy: 'commit' | 'pullRequest') => {
  const office = await layeredHub({ [LAYERS]: NORTH });
  await office.enrol('plant-1/edge', { region: 'north' });
  await office.enrol('plant-2/edge', { region: 'north' });
  await office.compose();
  const { folder } = office;
  const server = await startGitServer(join(folder, 'git'));
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    FLEET_FORGE_TOKEN: 'a-token-that-nobody-may-see',
  };
  const bare = join(folder, 'git/org/platform.git');
  const whole = join(folder, 'whole');
  await mkdir(whole);
  for (const part of ['platform', 'apps'])
    await cp(join(folder, part), join(whole, part), { recursive: true });
  await makeGitRepository(bare, { main: whole });
  const forge = await startForge('github', bare, 'org/platform');
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const file = join(folder, 'fleet-scheduler.yaml');
  await writeFile(
    file,
    `platform: ${server.url}/org/platform.git#main:platform\ncache: ${folder}/cache\ncommitter: Fleet Ferry <fleet@example.com>\nforge: github=${forge.api}\nsiteValues: {write: ${decidedBy}}\n`,
    { mode: 0o600 },
  );
  const settings = await readConfiguration({ config: file }, folder);
  const hub = { ...office, store: { ...office.store, by: { person: 'ann', reason: 'new gateway' } } };
  const lines: string[] = [];
  const { signal } = new AbortController();
  const write = (values: readonly SelectedValues[]) =>
    setInRepository(
      hub,
      { configuration: settings, values, env, signal, now: NOW, dryRun: false },
      { log: (line) => lines.push(line), say: (line) => lines.push(line) },
    );
  const set = async (
    siteSelector: Readonly<Record<string, string>>,
    sites: readonly string[],
    values: Readonly<Record<string, string | number>>,
    unset: readonly string[] = [],
  ) =>
    write([
      { siteSelector, set: values, unset, changes: sites.map((site) => ({ site, set: values, unset })) },
    ]);
  const many = (asked: readonly Pick<SelectedValues, 'siteSelector' | 'set'>[]) =>
    write(
      asked.map(({ siteSelector, set: values }) => {
        const { site = '', agent } = siteSelector;
        return { siteSelector, set: values, unset: [], changes: [{ site, agent, set: values, unset: [] }] };
      }),
    );
  const authoring = (): Authoring => {
    const opened = openAuthoring({ configuration: settings, env, cwd: folder, clock: () => NOW, signal });
    if (!opened) throw new Error('no platform is configured');
    return opened;
  };
  return {
    hub,
    authoring,
    git,
    many,
    set,
    lines,
    forge,
    settings,
    [Symbol.asyncDispose]: async () => {
      await forge[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
};

test('values of sites are a commit by the person, in the Config of the same sites, and comments stay', async () => {
  await using place = await repository('commit');
  const { hub, git, set } = place;
  await set({ region: 'north' }, ['plant-1', 'plant-2'], { port: 8080 });
  expect(await git('log', '-1', '--format=%an|%cn|%s', 'main')).toBe('ann|Fleet Ferry|Change Config north');
  expect(await git('show', 'main', '--format=%b', '--unified=0')).toContain('new gateway');
  const text = await git('show', `main:${LAYERS}`);
  expect(text).toContain('# Who asks: the network team');
  expect(text).toContain('port: 8080 # plain');
  await set({ site: 'plant-2' }, ['plant-2'], { gatewayHost: '10.7.0.1' });
  await set({ site: 'plant-2' }, ['plant-2'], { gatewayHost: '10.7.0.2' });
  await set({ region: 'north' }, ['plant-1', 'plant-2'], { gatewayHost: 'n' });
  await set({ region: 'north' }, ['plant-1', 'plant-2'], {}, ['gatewayHost']);
  const tree = (await git('ls-tree', '-r', '--name-only', 'main', 'platform')).split('\n');
  const files: Record<string, string> = {};
  for (const path of tree) files[path] = `${await git('show', `main:${path}`)}\n`;
  await writeFiles(hub.folder, files);
  await hub.build({ now: new Date(NOW.getTime() + 300_000) });
  await hub.compose();
  expect([await hub.valuesOf('plant-1'), await hub.valuesOf('plant-2')]).toMatchObject([
    { composed: { edge: { values: { gatewayHost: 'company', port: 8080 } } }, values: {} },
    { composed: { edge: { values: { gatewayHost: '10.7.0.2', port: 8080 } } }, values: {} },
  ]);
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  const logged = entries.flatMap((entry) =>
    entry.kind === 'change' && entry.predicate.change === 'sites set in repository' ? [entry.predicate] : [],
  );
  expect(logged.length).toBe(5);
  expect(logged[1]).toMatchObject({
    about: 'plant-2',
    person: 'ann',
    reason: 'new gateway',
    new: { object: 'Config site-plant-2', commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string },
  });
});

test('values of sites become a pull request where siteValues.write names the repository, and the hub accepts no others', async () => {
  await using place = await repository('pullRequest');
  const { hub, set, forge, git, lines, settings } = place;
  const before = await git('rev-parse', 'main');
  await set({ site: 'plant-1' }, ['plant-1'], { gatewayHost: 'g1' });
  expect(forge.pulls.map(({ title, state, base }) => [title, state, base])).toEqual([
    ['Create Config site-plant-1', 'open', 'main'],
  ]);
  expect(lines.at(-1)).toMatch(/proposed by http.*once it is merged and built$/);
  expect(await git('rev-parse', 'main')).toBe(before);
  await expect(
    decideValues(hub, [{ site: 'plant-1', set: { port: 1 }, unset: [] }], {
      allowUnknown: false,
      now: NOW,
      review: settings.siteValues,
    }),
  ).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringContaining('--here') as string });
});

test('of two people who change one value, the second learns of the open pull request of the first', async () => {
  await using place = await repository('pullRequest');
  const { hub, set, forge, lines, settings } = place;
  const authoring = place.authoring();
  await set({ site: 'plant-1' }, ['plant-1'], { gatewayHost: 'g1' });
  const [first] = forge.pulls;
  const one = { site: 'plant-1' };
  await expect(set(one, ['plant-1'], { gatewayHost: 'g2' })).rejects.toMatchObject({
    code: 'VALUES_CHANGED',
    message: expect.stringMatching(
      /^ann proposed another value gatewayHost of plant-1 at .*, in an open pull request: http.*pulls\/1$/,
    ) as string,
  });
  await set(one, ['plant-1'], { gatewayHost: 'g1' });
  expect(lines.at(-1)).toContain('has it already');
  await set(one, ['plant-1'], { port: 8080 });
  await set({ region: 'north' }, ['plant-1', 'plant-2'], { gatewayHost: 'n' });
  expect(forge.pulls.map(({ title }) => title)).toEqual([
    'Create Config site-plant-1',
    'Create Config site-plant-1',
    'Change Config north',
  ]);

  // Forms show all that reach the site, also through its region, to callers who see it.
  const values = {
    review: settings.siteValues,
    readKeys: async () => hub.keys,
    write: authoring.saveValues,
    open: authoring.openValues,
  };
  const { server, setNow } = await testServer({ values, authoring }, hub as unknown as TestHub);
  setNow(NOW);
  const allowances = [parseAllowance('values:site=plant-2')];
  const order = { scope: 'decide', person: 'bob', allowances } as const;
  const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
  const { token } = await createToken(hub.store, order, terms);
  const open = async (site: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return await server.inject({ url: `/v1/values/sites/${site}/open`, headers });
  };
  expect((await open('plant-2')).json()).toMatchObject({
    site: 'plant-2',
    proposals: [
      {
        agents: ['edge'],
        siteSelector: { region: 'north' },
        name: 'gatewayHost',
        person: 'ann',
        pullRequest: expect.stringMatching(/pulls\/3$/) as string,
      },
    ],
  });
  expect((await open('plant-1')).statusCode).toBe(403);
  expect((await authoring.openValues())?.map(({ siteSelector, name }) => [siteSelector, name])).toEqual(
    expect.arrayContaining([
      [{ site: 'plant-1' }, 'gatewayHost'],
      [{ site: 'plant-1' }, 'port'],
      [{ region: 'north' }, 'gatewayHost'],
    ]),
  );

  if (first) first.state = 'closed';
  await set(one, ['plant-1'], { gatewayHost: 'g2' });
  expect(forge.pulls.at(-1)).toMatchObject({ title: 'Create Config site-plant-1', state: 'open' });
  await server.close();
});

test('a file of many sites is one pull request, with the Config of each site and an entry in the audit log for each', async () => {
  await using place = await repository('pullRequest');
  const { hub, forge, git, many, lines } = place;
  await many([
    { siteSelector: { site: 'plant-1' }, set: { gatewayHost: 'g1', port: 1 } },
    { siteSelector: { site: 'plant-2' }, set: { gatewayHost: 'g2' } },
    { siteSelector: { site: 'plant-2', agent: 'edge' }, set: { port: 2 } },
    { siteSelector: { site: 'plant-1' }, set: { port: 3 } },
  ]);
  expect(forge.pulls.map(({ title, state }) => [title, state])).toEqual([
    ['Create 3 Configs of sites', 'open'],
  ]);
  expect(lines.at(-1)).toContain('once it is merged and built');
  const branch = forge.pulls[0]?.head ?? '';
  const changed = (await git('diff', '--name-only', 'main', branch)).split('\n');
  const texts = await Promise.all(changed.map((path) => git('show', `${branch}:${path}`)));
  expect(texts.join('\n')).toMatch(/gatewayHost: g1\s+port: 3/);
  expect(texts.join('\n')).not.toContain('port: 1\n');
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  const abouts = entries.flatMap(({ kind, predicate }) =>
    kind === 'change' && predicate.change === 'sites set in repository' ? [predicate.about] : [],
  );
  expect(abouts).toEqual(['plant-1', 'plant-2', 'plant-2/edge']);
});

test('the hub writes the change of its API, and of its page, into the repository, by the caller', async () => {
  await using place = await repository('pullRequest');
  const { hub, forge, git, settings } = place;
  const authoring = place.authoring();
  const values = { review: settings.siteValues, readKeys: async () => hub.keys, write: authoring.saveValues };
  const { server, setNow } = await testServer({ values, authoring }, hub as unknown as TestHub);
  setNow(NOW);
  const tokenOf = async (...allowances: readonly string[]) => {
    const order = { scope: 'decide', person: 'ann', allowances: allowances.map(parseAllowance) } as const;
    const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
    return (await createToken(hub.store, order, terms)).token;
  };
  const change = async (token: string, body: object) => {
    const answer = await server.inject({
      method: 'POST',
      url: '/v1/values/changes',
      headers: { authorization: `Bearer ${token}` },
      payload: { reason: 'a new gateway', ...body },
    });
    return { status: answer.statusCode, ...answer.json<Record<string, unknown>>() };
  };
  const ann = await tokenOf('values:site=plant-1');
  const version = await hub.valuesOf('plant-1');
  expect(await change(ann, { site: 'plant-1', set: { gatewayHost: 'g1' } })).toMatchObject({
    status: 200,
    outcome: 'written',
    sites: [],
    repository: { pullRequest: expect.stringMatching(/^http/) as string },
  });
  expect(await change(ann, { site: 'plant-2', set: { gatewayHost: 'g1' } })).toMatchObject({ status: 403 });
  expect(await change(ann, { site: 'plant-1', set: { port: 'x' } })).toMatchObject({ status: 400 });
  expect(forge.pulls.map(({ title }) => title)).toEqual(['Create Config site-plant-1']);
  const branch = forge.pulls[0]?.head ?? '';
  expect(await git('log', '-1', '--format=%an', branch)).toBe('ann');
  expect(await git('log', '-1', '--format=%b', branch)).toContain('a new gateway');
  const all = await tokenOf('values:*');
  expect(await change(all, { select: { region: 'north' }, set: { port: 8443 } })).toMatchObject({
    outcome: 'written',
  });
  expect(forge.pulls.at(-1)?.title).toContain('Config north');
  // A right for two sites does not cover a site that gets the label later.
  const both = await tokenOf('values:site=plant-1', 'values:site=plant-2');
  expect(await change(both, { select: { region: 'north' }, set: { port: 9443 } })).toMatchObject({
    outcome: 'written',
  });
  expect(forge.pulls.at(-1)?.title).toContain('2 Configs of sites');
  // Nothing was decided at the hub, and the log names all.
  expect(await hub.valuesOf('plant-1')).toEqual(version);
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  const logged = entries.flatMap(({ kind, predicate }) =>
    kind === 'change' && predicate.change === 'sites set in repository' ? [predicate] : [],
  );
  expect(logged).toMatchObject([
    { about: 'plant-1', person: 'ann', reason: 'a new gateway' },
    { about: 'north', person: 'ann' },
    { about: 'plant-1', person: 'ann' },
    { about: 'plant-2', person: 'ann' },
  ]);
  // What the hub was given before is undone at the hub.
  expect(await change(all, { site: 'plant-1', to: 1 })).toMatchObject({ status: 200, outcome: 'unchanged' });
  await server.close();
});

/** What anna at plant-1 set there. */
const addLocalEdit = async (hub: Awaited<ReturnType<typeof repository>>['hub']): Promise<void> => {
  const { agent, life } = await hub.store.db
    .selectFrom('agent')
    .select(['id as agent', 'life'])
    .where('site', '=', 'plant-1')
    .executeTakeFirstOrThrow();
  await hub.store.db
    .insertInto('local_edit')
    .values({
      agent,
      life,
      seq: 1,
      edit: digestOf('edit'),
      action: 'set',
      name: 'gatewayHost',
      value: '"10.7.0.9"',
      old: '"company"',
      given: '"company"',
      given_digest: givenDigest('company') ?? null,
      person: 'anna',
      reason: 'the gateway burnt',
      at: formatTime(NOW),
      received_at: formatTime(NOW),
      state: 'waiting',
      note: null,
      proposal: null,
      decided_by: null,
      decided_reason: null,
      decided_at: null,
      confirmed: 0,
    })
    .execute();
};

test('a value of a person at a site is refused once its pull request is closed without being merged', async () => {
  await using place = await repository('pullRequest');
  const { hub, forge, settings } = place;
  const repositoryOf = place.authoring();
  await addLocalEdit(hub);
  const review = { ...settings.siteValues, approvals: undefined, roles: {}, localEdits: 'accept' } as const;
  let minutes = 0;
  const lines: object[] = [];
  const log = {
    info: (line: object) => lines.push(line),
    warn: () => {},
    error: (line: object) => lines.push(line),
  };
  const clock = (): Date => new Date(NOW.getTime() + minutes * 60_000);
  const answer = createLocalAnswerer({
    hub,
    review,
    repository: repositoryOf,
    clock,
    log,
    confirm: async () => {},
  });
  const round = async (): Promise<string | undefined> => {
    await answer(new AbortController().signal);
    return (await readLocalEdits(hub.store.db)).map(({ state }) => state)[0];
  };
  expect(await round()).toBe('waiting');
  expect(await round()).toBe('waiting');
  const [pull] = forge.pulls;
  expect(pull).toMatchObject({ state: 'open' });
  if (pull) pull.state = 'closed';
  // A forge is not asked with every round.
  expect(await round()).toBe('waiting');
  minutes += 10;
  expect(await round()).toBe('refused');
  expect(await readLocalEdits(hub.store.db)).toMatchObject([
    {
      decided_reason: expect.stringMatching(
        /^its pull request was closed without being merged: http.*pulls\/1$/,
      ) as string,
    },
  ]);
  const { local } = await hub.valuesOf('plant-1');
  expect(local?.['edge']).toMatchObject({ gatewayHost: { outcome: 'refused' } });
  expect(forge.pulls.length).toBe(1);
});

test('an accepted value of a person at a site becomes a layer by one pull request, and is answered once the site has it from there', async () => {
  await using place = await repository('pullRequest');
  const { hub, forge, git, settings } = place;
  const authoring = place.authoring();
  await addLocalEdit(hub);
  const review = { ...settings.siteValues, approvals: undefined, roles: {}, localEdits: 'accept' } as const;
  const decide = async () => {
    const terms = { review, now: NOW, repository: authoring };
    const { decisions } = await decideLocalEdits(hub, terms);
    return decisions.map(({ outcome, note }) => [outcome, note]);
  };
  const before = await hub.valuesOf('plant-1');
  const { decisions: byCommand } = await decideLocalEdits(hub, { review, now: NOW });
  expect(byCommand).toMatchObject([
    { outcome: 'waiting', note: expect.stringContaining('serve writes it') as string },
  ]);
  const note = expect.stringMatching(/^it was written into .*pulls\/1\), and comes with a build$/) as string;
  expect(await decide()).toEqual([['waiting', note]]);
  // Later rounds propose nothing again.
  expect(await decide()).toEqual([['waiting', note]]);
  expect(forge.pulls.map(({ title }) => title)).toEqual(['Create Config site-plant-1']);
  const branch = forge.pulls[0]?.head ?? '';
  expect(await git('log', '-1', '--format=%b', branch)).toContain(
    'set there by anna at plant-1/edge: the gateway burnt',
  );
  expect(await hub.valuesOf('plant-1')).toEqual(before);

  // Merged, and built.
  await hub.edit(
    LAYERS,
    (text) =>
      `${text}---\n${config('plant', 'siteSelector: {site: plant-1}\n  values: {gatewayHost: 10.7.0.9}')}`,
  );
  await hub.build();
  await hub.compose();
  expect(await decide()).toEqual([['accepted', null]]);
  const { local } = await hub.valuesOf('plant-1');
  expect(local?.['edge']).toMatchObject({ gatewayHost: { outcome: 'accepted' } });
});

test('refuses a value that one of the hub would override, what no Config gives, and what the platform does not take', async () => {
  await using place = await repository('commit');
  const { hub, set, git } = place;
  const before = await git('rev-parse', 'main');
  await expect(set({ site: 'plant-1' }, ['plant-1'], {}, ['port'])).rejects.toMatchObject({ code: 'USAGE' });
  await expect(set({ region: '' }, ['plant-1'], {}, ['gatewayHost'])).rejects.toMatchObject({
    code: 'USAGE',
  });
  await setValues(hub.store, { site: 'plant-1', set: { port: 1 }, unset: [] }, await siteSigner(hub), NOW);
  await expect(set({ site: 'plant-1' }, ['plant-1'], { port: 2 })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'the hub has values that override a Config: port of plant-1',
  });
  expect(await git('rev-parse', 'main')).toBe(before);
});
