import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { listEnvironments } from '../../../scheduler/load/list-environments.ts';
import { loadPlatform } from '../../../scheduler/load/load-platform.ts';
import type { LoadPlatformOptions } from '../../../scheduler/load/platform/load-options.ts';
import { problemsOf } from '../../../scheduler/model/problems.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform, ours } from '../fleet-platform.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../kalypso-platform.ts';

const optionsFor = async (
  files: Readonly<Record<string, string>>,
  extra: Partial<LoadPlatformOptions> = {},
) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
  const options: LoadPlatformOptions = {
    platform: join(directory, 'platform'),
    environment: 'prod',
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
    ...extra,
  };
  return { directory, options };
};

const load = async (files: Readonly<Record<string, string>>, extra: Partial<LoadPlatformOptions> = {}) =>
  loadPlatform((await optionsFor(files, extra)).options);

/** What loading says is wrong, with the directory cut off. */
const complaints = async (
  files: Readonly<Record<string, string>>,
  extra: Partial<LoadPlatformOptions> = {},
) => {
  const { directory, options } = await optionsFor(files, extra);
  const error = await loadPlatform(options).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  return error === undefined
    ? []
    : problemsOf(error).map((problem) => formatError(problem).replaceAll(`${directory}/`, ''));
};

describe('a platform in the fleet form', () => {
  test('is read from base/ and the folder of one environment', async () => {
    const files = fleetPlatform();
    const workload = 'apps/shop/deploy/shop.yaml';
    const critical =
      files[workload]?.replace('environment: prod,', 'environment: prod, critical: true,') ?? '';
    const prod = await load({ ...files, [workload]: critical });
    expect(prod).toMatchObject({
      form: 'fleet',
      fleet: 'halden',
      environment: 'prod',
      chain: ['qa', 'prod'],
    });
    expect(prod.promotedCommit).toBeUndefined();
    expect(prod.clusterTypes.map(({ name, target }) => [name, target])).toEqual([
      ['edge', 'kubernetes'],
      ['press', 'host'],
    ]);
    expect(prod.configs.map(({ name, from }) => [name, from])).toEqual([
      ['defaults', 'base'],
      ['sizes', 'environment'],
    ]);
    expect(prod.targets).toMatchObject([
      {
        name: 'shop-web',
        workspace: 'sales',
        critical: true,
        registration: 'shop',
        labels: { workload: 'shop', workspace: 'sales' },
      },
    ]);
    expect(prod.sources.map(({ role, path }) => [role, path])).toEqual([
      ['environment/prod', 'environments/prod'],
      ['platform', '.'],
      ['workload/shop', 'deploy'],
    ]);
    const qa = await load(fleetPlatform(), { environment: 'qa' });
    expect(qa.configs.map(({ name }) => name)).toEqual(['defaults']);
    expect(qa.targets.map(({ critical }) => critical)).toEqual([false]);
  });

  test('an object of the environment replaces the base’s of the same kind and name', async () => {
    const files = {
      ...fleetPlatform(),
      'platform/environments/prod/edge.yaml': ours(
        'ClusterType',
        'edge',
        '  labels: {region: us}\nspec: {}\n',
      ),
    };
    expect((await load(files)).clusterTypes.map(({ labels }) => labels.region)).toEqual(['us', 'eu']);
    expect(
      (await load(files, { environment: 'qa' })).clusterTypes.map(({ labels }) => labels.region),
    ).toEqual(['eu', 'eu']);
  });

  test('layers are ordered: base before environment, fewer labels before more, then by name', async () => {
    const config = (name: string, selector: string) =>
      ours('Config', name, `spec:\n  selector: {${selector}}\n  values: {}\n`);
    const { configs } = await load({
      ...fleetPlatform(),
      'platform/base/more.yaml': [config('z', ''), config('a', 'region: eu'), config('b', '')].join('---\n'),
      'platform/environments/prod/more.yaml': [config('m', 'a: b, c: d'), config('n', 'a: b')].join('---\n'),
      'platform/environments/prod/map.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, labels: {platform-config: "true", a: b}}\ndata: {on: "yes", list: "[1, 010]", text: "\'q\'"}\n',
    });
    expect(configs.map(({ name }) => name)).toEqual(['b', 'defaults', 'z', 'a', 'sizes', 'map', 'n', 'm']);
    expect(configs.find(({ name }) => name === 'map')?.values).toEqual({
      on: 'yes',
      list: [1, 10],
      text: "'q'",
    });
  });

  test('reads image locks from images.lock.yaml beside fleet.yaml', async () => {
    const digest = `nginx@sha256:${'a'.repeat(64)}`;
    const { imageLocks } = await load({
      ...fleetPlatform(),
      'platform/images.lock.yaml': ours(
        'ImagesLock',
        'images',
        `spec:\n  images:\n    nginx:1.27: ${digest}\n`,
      ),
    });
    expect([...imageLocks]).toEqual([['nginx:1.27', digest]]);
  });

  test("the digests of the base and of the environment's layer change only with the files that were read", async () => {
    const trees = async (more: Record<string, string>) => {
      const { sources } = await load({ ...fleetPlatform(), ...more });
      return Object.fromEntries(sources.map(({ role, tree }) => [role, tree]));
    };
    const before = await trees({});
    expect(
      await trees({
        'platform/notes.yaml': 'a: b',
        'platform/environments/qa/x.yaml': 'a: b',
        'platform/base/x.md': '',
      }),
    ).toEqual(before);
    const base = await trees({ 'platform/base/x.yaml': '# nothing yet' });
    expect(base).toEqual({ ...before, platform: base['platform'] });
    expect(base['platform']).not.toBe(before['platform']);
    const layer = await trees({ 'platform/environments/prod/x.yaml': '# nothing yet' });
    expect(layer).toEqual({ ...before, 'environment/prod': layer['environment/prod'] });
    expect(layer['environment/prod']).not.toBe(before['environment/prod']);
  });

  test('has built-in templates, which a Template of the platform replaces', async () => {
    const { templates } = await load({
      ...fleetPlatform(),
      'platform/base/none.yaml': ours('Template', 'none', 'spec: {type: namespace, manifests: ["mine"]}\n'),
    });
    expect([...templates.keys()].toSorted()).toEqual(['configmap', 'env-file', 'fleet', 'namespace', 'none']);
    expect(templates.get('none')).toMatchObject({ engine: 'handlebars', manifests: [{ text: 'mine' }] });
  });

  test('all problems are reported at once, each with its place', async () => {
    expect(
      await complaints({
        ...fleetPlatform(),
        'platform/base/edge.yaml': ours('ClusterType', 'edge', 'spec: {colour: red}\n'),
        'platform/base/config.yaml': `${ours('Config', 'a', 'spec: {values: {}}\n')}---\n${ours('Config', 'a', 'spec: {values: {}}\n')}`,
        'platform/base/repo.yaml':
          'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: r, branch: b, path: .}\n',
        'platform/environments/prd/x.yaml': 'a: b\n',
        'apps/shop/deploy/shop.yaml': ours('Workload', 'shop', 'spec: {deploymentTarget: []}\n'),
      }),
    ).toEqual([
      'platform/environments/prd: REFERENCE_MISSING: environments/prd is not an environment of the fleet. Did you mean prod? Add prd to fleet.yaml, or rename the folder: the fleet has qa, prod.',
      'platform/base/edge.yaml:5:8: UNKNOWN_FIELD: ClusterType edge: spec has no field "colour". It may have target, reconciler, reconcilerVersion, namespaceService, configType, platforms, offline, adopt, objectRules, debianBase, requirements, reboot.',
      'platform/base/repo.yaml:1:1: UNKNOWN_KIND: BaseRepo main: a BaseRepo has no meaning here. A platform with a fleet.yaml has its environments as folders.',
      'platform/base/config.yaml:7:1: NAME_CLASH: Config a is declared twice, first at platform/base/config.yaml:1:1. Rename or remove one of the two.',
      'platform/base/../apps/shop/deploy/shop.yaml'.replace('platform/base/../', '') +
        ':5:8: UNKNOWN_FIELD: Workload shop: spec has no field "deploymentTarget". Did you mean deploymentTargets? It may have deploymentTargets, configSchemas.',
    ]);
  });

  test.for([
    [
      'of an environment that is not there',
      {},
      { environment: 'dev' },
      /fleet.yaml:1:1: PLATFORM_INVALID: the fleet has no environment "dev". It has qa, prod.$/,
    ],
    [
      'of another fleet',
      {},
      { fleet: 'other' },
      /fleet.yaml:1:1: USAGE: the platform is fleet halden, not other/,
    ],
    [
      'whose fleet.yaml is wrong',
      { 'platform/fleet.yaml': ours('Fleet', 'halden', 'spec: {environments: []}\n') },
      {},
      /fleet.yaml:5:22: FIELD_INVALID: .*is empty/,
    ],
    [
      'whose fleet.yaml is something else',
      { 'platform/fleet.yaml': 'a: b\n' },
      {},
      /fleet.yaml: PLATFORM_INVALID: this file holds no Fleet/,
    ],
    [
      'of an absolute application',
      {
        'platform/base/shop.yaml': ours(
          'WorkloadRegistration',
          'shop',
          'spec: {workload: {repo: /srv/shop}}\n',
        ),
      },
      {},
      /shop.yaml:5:18: FIELD_INVALID: .*absolute path/,
    ],
    [
      'whose application is not there',
      {
        'platform/base/shop.yaml': ours(
          'WorkloadRegistration',
          'shop',
          'spec: {workload: {repo: ../apps/shp}}\n',
        ),
      },
      {},
      /^platform\/base\/shop.yaml:5:18: SOURCE_MISSING: WorkloadRegistration shop: there is no directory apps\/shp/,
    ],
    [
      'whose application lost its Workload to a slip of the pen',
      { 'apps/shop/deploy/shop.yaml': ours('Workload', 'shop', 'spec: {}\n').replace('kind', 'kidn') },
      {},
      /^platform\/base\/shop.yaml:7:13: REFERENCE_MISSING: .*there is no Workload in apps\/shop\/deploy\//,
    ],
    [
      'with an object that is none',
      { 'platform/base/kidn.yaml': ours('Config', 'x', 'spec: {}\n').replace('kind', 'kidn') },
      {},
      /^platform\/base\/kidn.yaml:1:1: UNKNOWN_KIND: this is not an object of a platform/,
    ],
    [
      'with a list for an object',
      { 'platform/environments/prod/list.yaml': '- a\n' },
      {},
      /^platform\/environments\/prod\/list.yaml:1:1: UNKNOWN_KIND: this is not an object of a platform/,
    ],
    [
      'whose application leads out of itself',
      {
        'platform/base/shop.yaml': ours(
          'WorkloadRegistration',
          'shop',
          'spec: {workload: {repo: ../apps/shop, path: ../../platform}}\n',
        ),
      },
      {},
      /shop.yaml:5:18: FIELD_INVALID: .*leads out of its repository/,
    ],
  ] as const)('loading one %s reports that', async ([, more, extra, expected]) => {
    expect(await complaints({ ...fleetPlatform(), ...more }, extra)).toEqual([
      expect.stringMatching(expected),
    ]);
  });

  test('holds a broken application, and loads the others', async () => {
    const files = {
      ...fleetPlatform(),
      'platform/base/bad.yaml': ours(
        'WorkloadRegistration',
        'bad',
        'spec: {workspace: lab, workload: {repo: ../apps/bad}}\n',
      ),
      'apps/bad/policy.yaml': ours(
        'SchedulingPolicy',
        'mine',
        'spec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}\n',
      ),
    };
    expect(await complaints(files)).toEqual([
      "apps/bad/policy.yaml:1:1: UNKNOWN_KIND: SchedulingPolicy mine: a SchedulingPolicy cannot come from an application's repository. Only a Workload can; move it to the platform repository.",
    ]);
    const platform = await load(files, { holdWorkloads: true });
    expect(platform.targets.map(({ name }) => name)).toEqual(['shop-web']);
    expect(platform.policies.map(({ name }) => name)).toEqual(['everything']);
    expect(platform.heldWorkloads).toMatchObject([
      { registration: 'bad', workspace: 'lab', errors: [{ code: 'UNKNOWN_KIND' }] },
    ]);
  });

  test('is refused with a folder that is a link out of the repository', async () => {
    const files = { ...fleetPlatform(), 'secret/deploy/shop.yaml': 'a: b\n' };
    delete (files as Record<string, string>)['apps/shop/deploy/shop.yaml'];
    const { directory, options } = await optionsFor({ ...files, 'apps/shop/README.md': '' });
    await symlink(join(directory, 'secret/deploy'), join(directory, 'apps/shop/deploy'));
    await expect(loadPlatform(options)).rejects.toMatchObject({
      code: 'FIELD_INVALID',
      message: expect.stringMatching(/leads out of/),
    });
  });
});

describe("a platform in Kalypso's form", () => {
  const maps = (directory: string) => [
    { repo: CONTROL_PLANE, ref: 'dev', directory: join(directory, 'dev') },
    { repo: CONTROL_PLANE, ref: 'main', directory: join(directory, 'main') },
    { repo: SHOP, directory: join(directory, 'shop/') },
  ];
  const files = (more: Record<string, string> = {}) => ({
    ...prefixed('main', kalypsoMain()),
    ...prefixed('dev', kalypsoDev(CONTROL_PLANE, 'c'.repeat(40))),
    ...prefixed('shop', shopRepository()),
    ...more,
  });
  const prefixed = (folder: string, tree: Record<string, string>) =>
    Object.fromEntries(Object.entries(tree).map(([path, text]) => [`${folder}/${path}`, text]));
  const kalypso = async (more: Record<string, string> = {}, extra: Partial<LoadPlatformOptions> = {}) => {
    const directory = await temporaryDirectory();
    await writeFiles(directory, files(more));
    const platform = join(directory, 'main');
    const options = {
      platform,
      environment: 'dev',
      maps: maps(directory),
      cacheDirectory: join(directory, 'cache'),
      env: {},
      ...extra,
    };
    return { directory, options };
  };

  test("is read from the environment's branch, its base repositories and their registrations", async () => {
    const { options } = await kalypso();
    const platform = await loadPlatform({ ...options, fleet: 'halden' });
    expect(platform).toMatchObject({
      form: 'kalypso',
      fleet: 'halden',
      chain: ['dev'],
      promotedCommit: 'c'.repeat(40),
    });
    expect([...platform.templates.keys()].toSorted()).toEqual(['cfg', 'ns', 'rec']);
    expect(platform.sources.map(({ role }) => role)).toEqual([
      'base/main',
      'environment/dev',
      'platform',
      'workload/shop-reg',
    ]);
    expect(platform.targets[0]).toMatchObject({
      name: 'shop-web',
      workspace: 'team-one',
      labels: {
        'kustomize.toolkit.fluxcd.io/name': 'dev-shop-reg',
        'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
        workload: 'shop',
        workspace: 'team-one',
      },
    });
    expect(await listEnvironments(options)).toEqual(['dev']);
  });

  test('has labels of targets, overridden by those of the Workload, and by workload and workspace', async () => {
    const workload = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: shop
  labels: {tier: workload, workspace: stolen}
spec:
  configSchemas: ['{"type": "object"}']
  deploymentTargets:
    - name: web
      environment: dev
      labels: {tier: target, workload: other, own: "1"}
      manifests: {}
      configSchemas: ["true"]
    - name: elsewhere
      environment: prod
      manifests: {}
`;
    const { options } = await kalypso({ 'shop/deploy/shop.yaml': workload });
    const { targets } = await loadPlatform(options);
    expect(targets).toHaveLength(1);
    expect(targets[0]?.labels).toMatchObject({
      tier: 'workload',
      workload: 'shop',
      workspace: 'team-one',
      own: '1',
    });
    expect(targets[0]?.configSchemas).toEqual(['true', '{"type": "object"}']);
  });

  test('may have its Environment objects anywhere under the path', async () => {
    const { directory, options } = await kalypso();
    await writeFiles(directory, { 'other/envs/dev.yaml': kalypsoMain()['.environments/dev.yaml'] as string });
    const platform = await loadPlatform({ ...options, platform: join(directory, 'other') });
    expect(platform.targets).toHaveLength(1);
  });

  test('azure-app-config keys select one by one, short ones first, and the rest by name', async () => {
    const azure = `apiVersion: v1
kind: ConfigMap
metadata: {name: azure-app-config-a}
data:
  region.eu.workload.shop.url: both
  region.eu.url: eu
  url: all
  odd.key: "?"
`;
    const { options } = await kalypso({ 'dev/configs/azure.yaml': azure });
    const { configs, advice } = await loadPlatform(options);
    expect(configs.map(({ name, selector, values }) => [name, selector, values.url])).toEqual([
      ['eu', { region: 'eu' }, 'https://eu.example.com'],
      ['azure-app-config-a', {}, 'all'],
      ['azure-app-config-a', {}, undefined],
      ['azure-app-config-a', { region: 'eu' }, 'eu'],
      ['azure-app-config-a', { region: 'eu', workload: 'shop' }, 'both'],
    ]);
    expect(advice?.map((error) => error.at?.line)).toEqual([8]);
  });

  test('two objects of one kind and name are a clash, also from different repositories', async () => {
    const template = (kalypsoMain()['templates/all.yaml'] as string).split('---\n')[0] as string;
    const { options } = await kalypso({ 'dev/again.yaml': template });
    await expect(loadPlatform(options)).rejects.toMatchObject({
      code: 'NAME_CLASH',
      subject: 'Template rec',
    });
  });

  test('reports a missing environment or repository at the place that names it', async () => {
    const { directory, options } = await kalypso();
    await expect(loadPlatform({ ...options, environment: 'prod' })).rejects.toMatchObject({
      code: 'PLATFORM_INVALID',
      hint: 'It has dev',
    });
    const gone = { repo: CONTROL_PLANE, ref: 'main', directory: join(directory, 'gone') };
    await expect(loadPlatform({ ...options, maps: [gone, ...options.maps] })).rejects.toMatchObject({
      code: 'SOURCE_MISSING',
      subject: 'BaseRepo main',
      at: { file: join(directory, 'dev/base-repo.yaml'), line: 1, column: 1 },
    });
  });
});

test('a directory in neither form is PLATFORM_INVALID', async () => {
  expect(await complaints({ 'platform/README.md': '' })).toEqual([
    expect.stringMatching(
      /PLATFORM_INVALID: .*is not a platform. It needs a fleet.yaml, or Kalypso’s Environment objects/,
    ),
  ]);
  expect(await complaints({})).toEqual([expect.stringMatching(/SOURCE_MISSING: .*there is no directory/)]);
});
