import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import { openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { resolveInputs } from '#bundles/formats/site-values/resolve-inputs';
import { readManifests } from '../../../../agent/apply/kubernetes/desired/read-wanted.ts';
import { placeValues } from '../../../../scheduler/deliver/tree/place-values.ts';
import { readClusters } from '../../../../scheduler/hub/ingest/followers/tree-commits.ts';
import { bundlesOf, readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { runCommand, runOrFail } from '../../../harness/run/run-command.ts';
import { ours } from '../../fleet-platform.ts';
import { NOW } from '../../release/chain/chain-office.ts';
import { VALUED, valuedClusters, type ValuedClusters } from './valued-clusters.ts';

const CONFIG = 'platform-config.yaml';

const dataOf = async ({ file }: ValuedClusters, id: string, assignment: string): Promise<unknown> => {
  const text = await file(id, `${assignment}/${CONFIG}`);
  return text === undefined ? undefined : (parse(text) as { readonly data: unknown }).data;
};

describe('the folder of a cluster that follows a tree', () => {
  test('has the configuration with the values of its site, from layers and from people', async () => {
    await using world = await valuedClusters();
    await world.office.build();
    await world.follow('plant-7/edge', { region: 'north' });
    await world.follow('plant-8/edge');
    await world.compose();
    await world.set('plant-8', { lineNumber: 8, lines: ['a', 'b'] });
    await world.set('plant-8', { lineNumber: 9 }, { agent: 'edge' });
    expect(await world.deliver()).toMatchObject({ outcome: 'pushed', problems: [], heldAtClusters: [] });
    const both = async (assignment: string) => [
      await dataOf(world, 'plant-7/edge', assignment),
      await dataOf(world, 'plant-8/edge', assignment),
    ];
    expect(await both('shop-web')).toEqual([
      { LEVEL: 'base', LINE: '0', gateway: '10.7.0.1' },
      { LEVEL: 'base', LINE: '0', gateway: 'company', lines: '["a","b"]' },
    ]);
    expect(await both('monitor-probe')).toEqual([
      { LEVEL: 'base', LINE: '1' },
      { LEVEL: 'base', LINE: '9' },
    ]);
    expect(await world.commits()).toEqual(['plant-7/edge', 'plant-8/edge']);
  });

  test('holds back an application without a value that it needs, names it, and counts for no release until it is set', async () => {
    await using world = await valuedClusters({ ...VALUED, 'base/layers.yaml': '' });
    await world.office.build();
    await world.follow('plant-7/edge');
    await world.follow('plant-8/edge');
    await world.set('plant-8', { lineNumber: 8 });
    const why = 'site plant-7 has no value lineNumber';
    const first = await world.deliver();
    expect(
      first.heldAtClusters?.map(({ error: { code, message }, ...of }) => ({ ...of, code, message })),
    ).toEqual([{ cluster: 'plant-7/edge', assignment: 'monitor-probe', code: 'SITE_VALUES', message: why }]);
    expect(await world.file('plant-7/edge', 'HELD')).toBe(`monitor-probe: ${why}\n`);
    expect(await world.file('plant-7/edge', `monitor-probe/${CONFIG}`)).toBeUndefined();
    expect(await dataOf(world, 'plant-7/edge', 'shop-web')).toEqual({ LEVEL: 'base', LINE: '0' });
    expect(await world.commits()).toEqual(['plant-8/edge']);

    await world.set('plant-7', { lineNumber: 7 });
    expect(await world.deliver()).toMatchObject({ outcome: 'pushed', heldAtClusters: [] });
    expect(await world.file('plant-7/edge', 'HELD')).toBeUndefined();
    expect(await world.commits()).toEqual(['plant-7/edge', 'plant-8/edge']);
    // What ran stays where a value is wrong later.
    await world.set('plant-7', { lineNumber: 0 });
    expect((await world.deliver()).heldAtClusters?.map(({ error }) => error.message)).toEqual([
      'the value lineNumber of site plant-7 does not fit: lineNumber must be >= 1',
    ]);
    expect(await dataOf(world, 'plant-7/edge', 'monitor-probe')).toMatchObject({ LINE: '7' });
    expect(await world.deliver()).toMatchObject({ outcome: 'unchanged' });
  });

  test('N92: secrets in a tree: an input that is one holds its application, and a whole configuration is without it -> SITE_VALUES', async () => {
    await using world = await valuedClusters({
      ...VALUED,
      'base/sales.yaml': (VALUED['base/sales.yaml'] ?? '').replace('[gateway, lines]', '["*"]'),
      'base/monitor.yaml': (VALUED['base/monitor.yaml'] ?? '').replace(
        '{type: integer, minimum: 1}',
        '{type: string, writeOnly: true}',
      ),
    });
    await world.office.build();
    await world.follow('plant-7/edge');
    const values = { lineNumber: 'hush-1', apiToken: 'hush-2', gateway: '10.0.0.1' };
    await world.set('plant-7', values);
    expect(
      (await world.deliver()).heldAtClusters?.map(({ error }) => `${error.code} ${error.message}`),
    ).toEqual([
      'SITE_VALUES the value lineNumber of monitor-probe is a secret, and a file of Git would show it to everybody who reads the branch',
    ]);
    expect(await dataOf(world, 'plant-7/edge', 'shop-web')).toEqual({
      LEVEL: 'base',
      LINE: '0',
      gateway: '10.0.0.1',
    });
    const { stdout } = await runOrFail(['git', '--git-dir', world.gitops, 'grep', '-c', '', 'dev']);
    expect(stdout).toContain('dev:clusters/plant-7/edge/HELD');
    const hushed = await runCommand(['git', '--git-dir', world.gitops, 'grep', 'hush', 'dev']);
    expect([hushed.code, hushed.stdout]).toEqual([1, '']);
  });

  test('has the objects that an agent makes of the same bundle and the same values', async () => {
    await using world = await valuedClusters({
      ...VALUED,
      'base/layers.yaml': ours(
        'Config',
        'odd',
        `spec:\n  siteSelector: {}\n  values:\n    gateway: ${JSON.stringify('0644: "no"\n# y')}\n    lines: {on: [1.5, null, yes], "~": ""}\n    lineNumber: 12\n`,
      ),
    });
    await world.office.build();
    await world.follow('plant-7/edge');
    await world.compose();
    await world.deliver();
    const { layout, keys } = world.hub;
    const { blobs } = await openLayout(layout);
    const channel = { environment: 'dev', clusterType: 'press' };
    const release = await readRelease(await openLayout(layout), channel, keys.roots);
    const { config, manifest, digest } = await readBundle(blobs, bundlesOf(release as never)[0] as never);
    const packages = unpackPackages(
      await Promise.all(manifest.layers.map((layer) => readBlob(blobs, layer.digest, layer.size))),
    );
    const [cluster] = await readClusters(world.hub.store);
    if (!cluster) throw new Error('no cluster');
    expect(config.assignments.map(({ id }) => id)).toEqual(['monitor-probe', 'shop-web']);
    for (const { id } of config.assignments) {
      const siteInputs = await resolveInputs(config, cluster.values, 'edge', id);
      expect(siteInputs.length).toBeGreaterThan(0);
      const files = packages.get(id) ?? new Map<string, Buffer>();
      const wanted = readManifests({
        assignment: id,
        package: digest,
        siteValues: digest,
        files,
        siteInputs,
      });
      const made = wanted.filter(({ place }) => place === CONFIG).map(({ fields }) => fields);
      const text = (await world.file('plant-7/edge', `${id}/${CONFIG}`)) ?? '';
      expect(parseManifests(new Map([[CONFIG, Buffer.from(text)]])).map(({ value }) => value)).toEqual(made);
    }
  });

  test('gets a changed value while a rollout has not reached the cluster, with the content that it has', async () => {
    await using world = await valuedClusters();
    const { office } = world;
    await office.build();
    await world.follow('plant-7/edge', { ring: 'pilot' });
    await world.follow('plant-8/edge');
    await world.compose();
    await world.deliver();
    const level = VALUED['base/level.yaml'] ?? '';
    office.commit({
      'promotion/rings.yaml': ours(
        'RolloutPolicy',
        'rings',
        'spec:\n  environment: dev\n  stages:\n    - {name: pilot, selector: {matchLabels: {ring: pilot}}}\n    - {name: all, percent: 100}\n',
      ),
    });
    office.commit({ 'base/level.yaml': level.replace('LEVEL: base', 'LEVEL: second') });
    await office.build({ now: new Date(NOW.getTime() + 60_000) });
    await world.set('plant-8', { lineNumber: 8 });
    expect(await world.deliver()).toMatchObject({ outcome: 'pushed', problems: [], heldAtClusters: [] });
    expect([
      await dataOf(world, 'plant-7/edge', 'monitor-probe'),
      await dataOf(world, 'plant-8/edge', 'monitor-probe'),
    ]).toEqual([
      { LEVEL: 'second', LINE: '1' },
      { LEVEL: 'base', LINE: '8' },
    ]);
    expect(await world.file('plant-8/edge', 'RELEASE')).not.toBe(await world.file('plant-7/edge', 'RELEASE'));
  });
});

describe('what no site value decides', () => {
  const FILES = new Map(
    Object.entries({
      'web/platform-config.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-config}\ndata: {a: b}\n',
      'web/namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {a: b}}\n',
      'web/reconciler.yaml':
        'apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec: {path: ./, wait: true}\n',
      'other/platform-config.yaml': 'kind: ConfigMap\n',
    }).map(([path, text]) => [path, Buffer.from(text)] as const),
  );
  const digest = `sha256:${'a'.repeat(64)}`;

  test.each([
    [
      'the labels of its namespace',
      'namespace.yaml',
      '/0/metadata/labels/a',
      {},
      'a Namespace gives or limits rights',
    ],
    [
      'what Flux fetches',
      'reconciler.yaml',
      '/0/spec/path',
      {},
      'a Kustomization says what another reconciler fetches',
    ],
    [
      'the name of an object',
      'platform-config.yaml',
      '/0/metadata/name',
      {},
      'of metadata, only single labels',
    ],
    [
      'objects of the platform, for a tenant',
      'namespace.yaml',
      '/0/metadata/labels/a',
      { workspace: 'sales', bounds: {} },
      'the site value "x" goes to namespace.yaml, which is the platform\'s',
    ],
    [
      'a value that is not granted, for a tenant',
      'platform-config.yaml',
      '/0/data/a',
      { workspace: 'sales', bounds: { siteValues: ['y'] } },
      'the site value "x" is not one that it may read',
    ],
  ])('N91: fields of site values in a tree: %s -> OUT_OF_BOUNDS', async (_, file, pointer, of, why) => {
    const config = {
      assignments: [{ id: 'web', package: digest, path: 'web', ...of }],
      siteInputs: {
        schema: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
        fields: [{ input: 'x', assignment: 'web', file, pointer }],
      },
    } as unknown as BundleConfig;
    const values = { fleet: 'halden', site: 'plant-7', values: { x: 'evil' }, agents: {} };
    const { files, held } = await placeValues(FILES, config, values, 'edge');
    expect([...files.keys()]).toEqual(['other/platform-config.yaml']);
    expect(
      [...held].map(([id, { code, message }]) => [id, code, message.includes(why), message.includes('evil')]),
    ).toEqual([['web', 'OUT_OF_BOUNDS', true, false]]);
  });
});
