import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { canonicalBytes } from '../../../bundles/json/canonical.ts';
import { openBlobDirectory } from '../../../bundles/formats/layout/blob-directory.ts';
import type { BuildOptions } from '../../../scheduler/build/build-options.ts';
import type { BuildOutcome } from '../../../scheduler/build/build-outcome.ts';
import { build } from '../../../scheduler/build/build.ts';
import type { GivenCandidate } from '../../../scheduler/assemble/candidate/given-candidate.ts';
import { platformOf } from '../../../scheduler/assemble/candidate/platform-of.ts';
import { readCandidate } from '../../../scheduler/assemble/candidate/read-candidate.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { digestsOf, makeCompany, NOW } from '../../harness/fleets/company.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../scheduler/fleet-platform.ts';
import { kalypsoDev, kalypsoMain, shopRepository } from '../../scheduler/kalypso-platform.ts';

const signal = new AbortController().signal;

type World = {
  readonly directory: string;
  readonly url: (name: string) => string;
  readonly commit: (name: string, branch: string, files: Readonly<Record<string, string>>) => Promise<string>;
  readonly build: (options: Partial<BuildOptions>) => Promise<BuildOutcome>;
  readonly candidateOf: (outcome: BuildOutcome, layout: string) => Promise<GivenCandidate>;
};

/** Repositories in a folder, and a scheduler with keys and a cache of its own for each layout. */
const makeWorld = async (fleet: string): Promise<World> => {
  const directory = await temporaryDirectory();
  await initDevRoot(join(directory, 'keys'), fleet, NOW);
  const made = new Set<string>();
  const url = (name: string) => `file://${join(directory, `${name}.git`)}`;
  return {
    directory,
    url,
    commit: async (name, branch, files) => {
      const folder = join(directory, 'work', name, branch);
      await rm(folder, { recursive: true, force: true });
      await writeFiles(folder, files);
      const repository = join(directory, `${name}.git`);
      if (made.has(name)) return await commitFolder(repository, branch, folder);
      made.add(name);
      return (await makeGitRepository(repository, { [branch]: folder }))[branch] as string;
    },
    build: async (options) => {
      const layout = options.layout ?? 'releases';
      return await build({
        platform: url('platform'),
        maps: [],
        cacheDirectory: join(directory, `cache-${layout}`),
        keys: await openKeyDirectory(join(directory, 'keys')),
        now: NOW,
        signal,
        ...options,
        layout: join(directory, layout),
      });
    },
    candidateOf: async ({ environments: [first] }, layout) =>
      readCandidate(first?.candidate ?? '', [openBlobDirectory(join(directory, layout))], signal),
  };
};

const files = fleetPlatform();
const platformFiles = (change: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...files,
  ...change,
});

it('rebuilds the same bundles after every branch has changed', async () => {
  const world = await makeWorld('halden');
  const platform = `${world.url('platform')}#main:platform`;
  await world.commit('platform', 'main', platformFiles());
  const first = await world.build({ platform, environments: ['prod'] });
  const before = digestsOf(first);
  expect(Object.values(before).filter((digest) => digest !== undefined)).toHaveLength(2);
  const given = await world.candidateOf(first, 'releases');
  expect(given.document).toMatchObject({ environment: 'prod', fleet: 'halden', charts: [] });
  expect(given.document.sources.map(({ role }) => role)).toEqual([
    'application/shop-web',
    'environment/prod',
    'platform',
    'workload/shop',
  ]);
  await world.commit(
    'platform',
    'main',
    platformFiles({
      'platform/base/config.yaml': (files['platform/base/config.yaml'] ?? '').replace('info', 'debug'),
      'apps/shop/host/package.yaml': (files['apps/shop/host/package.yaml'] ?? '').replace(
        '/opt/shop/web',
        '/opt/shop/new',
      ),
    }),
  );
  const moved = await world.build({ platform, environments: ['prod'], layout: 'moved' });
  expect(digestsOf(moved)).not.toEqual(before);
  const again = await world.build({
    platform: platformOf(given.document) ?? '',
    candidate: given,
    layout: 'again',
  });
  expect(digestsOf(again)).toEqual(before);
  expect((await world.candidateOf(again, 'again')).digest).toBe(given.digest);
});

it('needs no network with its commits in the cache, and names a missing commit without', async () => {
  const world = await makeWorld('halden');
  const platform = `${world.url('platform')}#main:platform`;
  const commit = await world.commit('platform', 'main', platformFiles());
  const first = await world.build({ platform, environments: ['prod'] });
  const given = await world.candidateOf(first, 'releases');
  await rm(join(world.directory, 'platform.git'), { recursive: true });
  const again = await world.build({ platform, candidate: given });
  expect(digestsOf(again)).toEqual(digestsOf(first));
  await makeGitRepository(join(world.directory, 'platform.git'), { main: join(world.directory, 'keys') });
  await expect(world.build({ platform, candidate: given, layout: 'fresh' })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
    message: expect.stringContaining(`has no commit ${commit}`),
  });
});

it('of a platform whose branch was deleted is built by the chain as last read, with a notice', async () => {
  const world = await makeWorld('halden');
  const platform = `${world.url('platform')}#release:platform`;
  await world.commit('platform', 'main', platformFiles());
  await world.commit(
    'platform',
    'release',
    platformFiles({
      'platform/fleet.yaml': ours(
        'Fleet',
        'halden',
        'spec:\n  environments: [{name: qa}, {name: prod, promotedFrom: qa}]\n',
      ),
    }),
  );
  const first = await world.build({ platform, environments: ['qa'] });
  const given = await world.candidateOf(first, 'releases');
  await runOrFail([
    'git',
    '-C',
    join(world.directory, 'platform.git'),
    'update-ref',
    '-d',
    'refs/heads/release',
  ]);
  await expect(world.build({ platform, environments: ['qa'] })).rejects.toMatchObject({
    code: 'SOURCE_MISSING',
  });
  const again = await world.build({ platform, candidate: given });
  expect(digestsOf(again)).toEqual(digestsOf(first));
  expect(again.advice.map(({ code, message }) => [code, message])).toEqual([
    ['SOURCE_MISSING', expect.stringMatching(/has no branch release; it is read as of \d{4}-/)],
  ]);
  // The chain still counts: nothing was promoted to prod.
  await expect(world.build({ platform, candidate: given, environments: ['prod'] })).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
  });
});

it('is promoted with its base, workloads and files, and the current layer of the environment', async () => {
  const world = await makeWorld('halden');
  const platform = `${world.url('platform')}#main:platform`;
  const old = await world.commit('platform', 'main', platformFiles());
  const qa = await world.build({ platform, environments: ['qa'] });
  const given = await world.candidateOf(qa, 'releases');
  const layer = {
    'platform/environments/prod/config.yaml': (files['platform/environments/prod/config.yaml'] ?? '').replace(
      '9',
      '77',
    ),
  };
  const now = await world.commit(
    'platform',
    'main',
    platformFiles({
      ...layer,
      'platform/base/config.yaml': (files['platform/base/config.yaml'] ?? '').replace('info', 'debug'),
    }),
  );
  const prod = await world.build({ platform, candidate: given, environments: ['prod'] });
  const made = await world.candidateOf(prod, 'releases');
  expect(made.document.parent).toBe(given.digest);
  const commits = Object.fromEntries(made.document.sources.map(({ role, commit }) => [role, commit]));
  expect(commits).toEqual({
    'application/shop-web': old,
    'environment/prod': now,
    platform: old,
    'workload/shop': old,
  });
  // The same as a platform that only ever changed its prod layer.
  const alike = await makeWorld('halden');
  await alike.commit('platform', 'main', platformFiles(layer));
  const expected = await alike.build({
    platform: `${alike.url('platform')}#main:platform`,
    environments: ['prod'],
  });
  expect(digestsOf(prod)).toEqual(digestsOf(expected));
  // And the promoted one can itself be built again.
  await world.commit(
    'platform',
    'main',
    platformFiles({
      'platform/base/config.yaml': files['platform/base/config.yaml']?.replace('80', '81') ?? '',
    }),
  );
  const again = await world.build({ platform, candidate: made, layout: 'again' });
  expect(digestsOf(again)).toEqual(digestsOf(prod));
});

const ENVIRONMENT = (controlPlane: string, name: string): string =>
  (kalypsoMain(controlPlane)['.environments/dev.yaml'] ?? '')
    .replaceAll('dev', name)
    // The folder of the test may have it in its name, too.
    .replace(controlPlane.replaceAll('dev', name), controlPlane);

it('of a Kalypso platform is rebuilt and promoted in the same way, over branches', async () => {
  const world = await makeWorld('contoso');
  const [plane, shop] = [world.url('platform'), world.url('shop')];
  const main = (): Record<string, string> => ({
    ...kalypsoMain(plane, shop),
    '.environments/qa.yaml': ENVIRONMENT(plane, 'qa'),
    'templates/ours.yaml': KALYPSO_TEMPLATES,
  });
  const environment = (url: string): Record<string, string> => ({
    ...kalypsoDev(plane),
    'types/edge.yaml': (kalypsoDev()['types/edge.yaml'] ?? '')
      .replace('rec\n', 'fleet\n')
      .replace('ns\n', 'space\n')
      .replace('cfg\n', 'map\n'),
    'configs/eu.yaml': (kalypsoDev()['configs/eu.yaml'] ?? '').replace('https://eu.example.com', url),
  });
  const workload = (shopRepository()['deploy/shop.yaml'] ?? '').replace(
    'https://example.com/shop/gitops',
    shop,
  );
  const app = (value: string) => ({
    'deploy/shop.yaml': `${workload}${workload.slice(workload.indexOf('    - name')).replace('environment: dev', 'environment: qa')}`,
    'web/map.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {value: ${value}}\n`,
  });
  await world.commit('platform', 'main', main());
  await world.commit('platform', 'dev', environment('https://dev.example.com'));
  await world.commit('platform', 'qa', environment('https://qa.example.com'));
  const old = await world.commit('shop', 'main', app('one'));
  const dev = await world.build({ environments: ['dev'], fleet: 'contoso' });
  expect(dev.channels.flatMap(({ held }) => held)).toEqual([]);
  expect(dev.channels.map(({ outcome }) => outcome)).toEqual(['released']);
  const given = await world.candidateOf(dev, 'releases');
  await world.commit('shop', 'main', app('two'));
  await world.commit('platform', 'dev', environment('https://newer.example.com'));
  const layer = await world.commit('platform', 'qa', environment('https://newest.example.com'));
  const again = await world.build({
    platform: platformOf(given.document) ?? '',
    candidate: given,
    fleet: 'contoso',
    layout: 'again',
  });
  expect(digestsOf(again)).toEqual(digestsOf(dev));
  const qa = await world.build({ candidate: given, environments: ['qa'], fleet: 'contoso' });
  expect(qa.channels.flatMap(({ held }) => held)).toEqual([]);
  const made = await world.candidateOf(qa, 'releases');
  const commits = Object.fromEntries(made.document.sources.map(({ role, commit }) => [role, commit]));
  expect(commits['application/shop-web']).toBe(old);
  expect(commits['workload/shop-reg']).toBe(old);
  expect(commits['environment/qa']).toBe(layer);
});

const KALYPSO_BODIES: Readonly<Record<string, string>> = {
  config:
    'apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: platform-config}\n      data: {url: "{{ .ConfigData.url }}"}',
  namespace: 'apiVersion: v1\n      kind: Namespace\n      metadata: {name: "{{ .Namespace }}"}',
};

const KALYPSO_TEMPLATES = ['reconciler fleet', 'namespace space', 'config map']
  .map((one) => {
    const [type = '', name = ''] = one.split(' ');
    const body = KALYPSO_BODIES[type] ?? '';
    const manifests = body === '' ? '  manifests: []' : `  manifests:\n    - |\n      ${body}`;
    return `apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata:\n  name: ${name}\nspec:\n  type: ${type}\n${manifests}\n`;
  })
  .join('---\n');

it('of directories is refused when one of them has changed', async () => {
  const directory = await temporaryDirectory();
  const company = await makeCompany(directory);
  const first = await company.build({ environments: ['prod'] });
  const layouts = [openBlobDirectory(join(directory, 'releases'))];
  const given = await readCandidate(first.environments[0]?.candidate ?? '', layouts, signal);
  const same = await company.build({ candidate: given, layout: join(directory, 'again') });
  expect(digestsOf(same)).toEqual(digestsOf(first));
  await company.edit('apps/scale-reader/host/scale.json', (text) => `${text}\n`);
  await expect(company.build({ candidate: given, layout: join(directory, 'third') })).rejects.toMatchObject({
    code: 'CANDIDATE_MISMATCH',
    message: expect.stringMatching(
      /application\/scale-reader-host had the tree sha256:[0-9a-f]{12}, and now has/,
    ),
  });
});

it('keeps held assignments held, and asks for the earlier bundle that stood in', async () => {
  const directory = await temporaryDirectory();
  const company = await makeCompany(directory);
  const printer = 'apps/label-printer/host/package.yaml';
  const layout = join(directory, 'releases');
  await company.build({ environments: ['prod'] });
  await company.edit(printer, (text) => text.replace('source: label.zpl', 'source: lable.zpl'));
  await company.edit('apps/scale-reader/host/scale.json', (text) =>
    text.replace('"decimals": 3', '"decimals": 2'),
  );
  const kept = await company.build({ environments: ['prod'], previous: layout });
  const given = await readCandidate(
    kept.environments[0]?.candidate ?? '',
    [openBlobDirectory(layout)],
    signal,
  );
  expect(given.document.kept).toEqual([
    { clusterType: 'factory-host', bundle: expect.stringMatching(/^sha256:/) },
  ]);
  const copy = join(directory, 'copy');
  await cp(layout, copy, { recursive: true });
  const again = await company.build({ candidate: given, previous: copy, layout: join(directory, 'again') });
  expect(digestsOf(again)).toEqual(digestsOf(kept));
  await expect(company.build({ candidate: given, layout: join(directory, 'alone') })).rejects.toMatchObject({
    code: 'CANDIDATE_MISMATCH',
    hint: expect.stringContaining('--previous'),
  });
});

it('is given on the command line by the digest that build prints, or by a file', async () => {
  const directory = await temporaryDirectory();
  await makeCompany(directory);
  const run = (...words: readonly string[]) =>
    runScheduler(
      directory,
      ['build', '--platform', 'platform', '--keys', 'keys', '--images', 'images', ...words],
      { ...process.env, HOME: directory },
    );
  const first = await run('--layout', 'releases', '--environment', 'prod', '--json');
  expect(first.code, first.stderr).toBe(0);
  const { candidates, channels } = JSON.parse(first.stdout) as {
    candidates: Record<string, string>;
    channels: { bundle: string }[];
  };
  const digest = candidates['prod'] ?? '';
  const bytes = await readFile(join(directory, 'releases/blobs/sha256', digest.slice(7)));
  await writeFile(join(directory, 'candidate.json'), JSON.stringify(JSON.parse(bytes.toString()), null, 2));
  expect(canonicalBytes(JSON.parse(bytes.toString())).equals(bytes)).toBe(true);
  const byDigest = await run('--layout', 'again', '--previous', 'releases', '--candidate', digest, '--json');
  expect(byDigest.code, byDigest.stderr).toBe(0);
  expect(bundlesIn(byDigest.stdout)).toEqual(channels.map(({ bundle }) => bundle));
  const byFile = await run('--layout', 'third', '--candidate', 'candidate.json', '--json');
  expect(bundlesIn(byFile.stdout)).toEqual(channels.map(({ bundle }) => bundle));
  const none = await run('--layout', 'third', '--candidate', `sha256:${'0'.repeat(64)}`);
  expect(none.stderr).toContain('MISSING_BLOB');
});

const bundlesIn = (text: string): readonly string[] =>
  (JSON.parse(text) as { channels: { bundle: string }[] }).channels.map(({ bundle }) => bundle);
