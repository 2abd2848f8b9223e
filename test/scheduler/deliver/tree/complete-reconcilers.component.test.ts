import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { RECONCILERS } from '../../load/templates/render-template.ts';
import { ours } from '../../fleet-platform.ts';
import { reconcilerClusters } from './reconciler-clusters.ts';
import type { ValuedClusters } from './valued-clusters.ts';

const VALUES = { lineNumber: 8, motto: "it's {{ here }}" };
const worldOf = (name: string) => reconcilerClusters(name, RECONCILERS[name] ?? {});

const objectsOf = async ({ file }: ValuedClusters, id: string): Promise<readonly Record<string, never>[]> =>
  parseAllDocuments((await file(id, 'monitor-probe/reconciler.yaml')) ?? '').map(
    (one) => one.toJS() as never,
  );

test.each(['flux-oci', 'argocd-oci'])(
  '%s follows the bundle of its release, with patches that make what an agent would make',
  async (name) => {
    await using world = await worldOf(name);
    expect(await world.deliver()).toMatchObject({ outcome: 'pushed', heldAtClusters: [] });
    const release = await world.file('plant-8/edge', 'RELEASE');
    const [digest] = /sha256:[0-9a-f]{64}/.exec(release ?? '') ?? [];
    const objects = await objectsOf(world, 'plant-8/edge');
    const spec = objects.at(-1)?.['spec'] as unknown as Record<string, never>;
    const patches = (
      name === 'flux-oci' ? spec['patches'] : (spec['source'] as never)?.['kustomize']?.['patches']
    ) as readonly { readonly target: object; readonly patch: string }[] | undefined;
    expect(JSON.stringify(objects)).toContain(`"${digest}"`);
    expect(JSON.stringify(objects)).not.toContain('"bundle"');
    expect(patches?.map(({ target, patch }) => ({ target, patch: parse(patch) as unknown }))).toEqual([
      {
        target: { version: 'v1', kind: 'ConfigMap', name: 'web', namespace: expect.any(String) },
        patch: [{ op: 'replace', path: '/data/speed', value: '30' }],
      },
      {
        target: {
          group: 'lines.example',
          version: 'v1',
          kind: 'Line',
          name: 'web',
          namespace: expect.any(String),
        },
        patch: [{ op: 'replace', path: '/spec/belts/0/speed', value: 2 }],
      },
      {
        target: { version: 'v1', kind: 'ConfigMap', name: 'platform-config', namespace: expect.any(String) },
        patch: [
          { op: 'replace', path: '/data/LEVEL', value: VALUES.motto },
          { op: 'replace', path: '/data/LINE', value: '8' },
        ],
      },
    ]);
  },
);

test('rancher-fleet-helm: each cluster has a HelmOp of its own, with the values of its site', async () => {
  await using world = await worldOf('rancher-fleet-helm');
  await world.deliver();
  const [seven, eight] = await Promise.all(
    ['plant-7/edge', 'plant-8/edge'].map(async (id) => (await objectsOf(world, id))[0]),
  );
  expect(eight).toMatchObject({
    kind: 'HelmOp',
    spec: {
      helm: { values: { siteValues: VALUES } },
      targets: [
        {
          name: 'edge',
          clusterSelector: { matchLabels: { 'fleet-ferry/site': 'plant-8', 'fleet-ferry/agent': 'edge' } },
        },
      ],
    },
  });
  expect(seven).toMatchObject({ spec: { helm: { values: { siteValues: { lineNumber: 1 } } } } });
  const nameOf = (one: unknown) => (one as { readonly metadata: { readonly name: string } }).metadata.name;
  expect(nameOf(seven)).not.toBe(nameOf(eight));
  expect(nameOf(eight).length).toBeLessThanOrEqual(53);
});

const LABELS = {
  'fleet-ferry/namespace': 'dev-press-monitor-probe',
  'fleet-ferry/package': expect.stringMatching(/^[0-9a-f]{32}$/),
};

test.each([
  ['rancher-fleet', { metadata: { labels: LABELS }, spec: { forceSyncGeneration: expect.any(Number) } }],
  ['rancher-fleet-helm', { metadata: { labels: LABELS }, spec: { labels: LABELS } }],
])(
  '%s: labels of the object name the package that it deploys, and another package changes its spec',
  async (name, said) => {
    await using world = await worldOf(name);
    await world.deliver();
    const [before] = await objectsOf(world, 'plant-8/edge');
    expect(before).toMatchObject(said);
    world.office.commit({
      'base/more.yaml': ours('Config', 'more', 'spec:\n  values: {MORE: one}\n'),
    });
    await world.office.build();
    await world.deliver();
    const [after] = await objectsOf(world, 'plant-8/edge');
    expect(after).toMatchObject(said);
    expect(after).not.toEqual(before);
  },
);

test('rancher-fleet: each cluster has a GitRepo of its own; the values are in its platform-config', async () => {
  await using world = await worldOf('rancher-fleet');
  await world.deliver();
  expect(await objectsOf(world, 'plant-8/edge')).toMatchObject([
    {
      kind: 'GitRepo',
      spec: { targets: [{ clusterSelector: { matchLabels: { 'fleet-ferry/site': 'plant-8' } } }] },
    },
  ]);
  const config = parse(
    (await world.file('plant-8/edge', 'monitor-probe/platform-config.yaml')) ?? '',
  ) as object;
  expect(config).toMatchObject({ data: { LINE: '8', LEVEL: VALUES.motto } });
});

test('symphony: parameters of the Instance, as text', async () => {
  await using world = await worldOf('symphony');
  await world.deliver();
  const instance = (await objectsOf(world, 'plant-8/edge')).find(({ kind }) => kind === 'Instance');
  expect(instance).toMatchObject({ spec: { parameters: { lineNumber: '8', motto: VALUES.motto } } });
});

test('zarf: a configuration file with the variables of the package beside it', async () => {
  await using world = await worldOf('zarf');
  await world.set('plant-8', { motto: 'all {{ here }}:8' });
  await world.deliver();
  expect(parse((await world.file('plant-8/edge', 'monitor-probe/zarf-config.yaml')) ?? '')).toEqual({
    package: { deploy: { set: { LINE_NUMBER: '8', MOTTO: 'all {{ here }}:8', SPEED: '30', REPLICAS: '2' } } },
  });
});

test('zarf: a value that would be YAML in the objects holds its application', async () => {
  await using world = await worldOf('zarf');
  const why =
    "the value of motto has a line break, a quote, a backslash, ': ', ' #' or '###', which Zarf would put into the objects as YAML";
  for (const motto of [
    'a\n  b: c',
    "it's",
    '"',
    '\\',
    'a: b',
    'a:',
    'a #b',
    '###ZARF_VAR_SPEED###',
    '\u0085',
  ]) {
    await world.set('plant-8', { motto });
    await world.deliver();
    expect(await world.file('plant-8/edge', 'HELD'), motto).toContain(why);
  }
  await world.set('plant-8', { motto: 'http://a.example:80/#b {c}, [d] & *e' });
  await world.deliver();
  expect(await world.file('plant-8/edge', 'HELD')).toBeUndefined();
});

test('ansible-pull: the file of variables on the host has those of its site', async () => {
  await using world = await worldOf('ansible-pull');
  await world.deliver();
  const [play] = parse((await world.file('plant-8/edge', 'monitor-probe/reconciler.yaml')) ?? '') as {
    readonly tasks: readonly Record<string, { readonly dest?: string; readonly content?: string }>[];
  }[];
  const copies = (play?.tasks ?? []).flatMap((task) => task['ansible.builtin.copy'] ?? []);
  const [, text = ''] =
    /'([^']*)'/.exec(copies.find(({ dest }) => dest?.endsWith('.json'))?.content ?? '') ?? [];
  const variables = JSON.parse(Buffer.from(text, 'base64').toString()) as object;
  expect(variables).toMatchObject({ platform_config: { LEVEL: 'base' }, site_values: VALUES });
});

test('a value that is missing holds the application, and gives its reconciler nothing', async () => {
  await using world = await worldOf('rancher-fleet-helm');
  await world.set('plant-7', { lineNumber: 'seven' });
  expect((await world.deliver()).heldAtClusters).toMatchObject([
    { cluster: 'plant-7/edge', assignment: 'monitor-probe' },
  ]);
  expect(await objectsOf(world, 'plant-7/edge')).toEqual([]);
});
