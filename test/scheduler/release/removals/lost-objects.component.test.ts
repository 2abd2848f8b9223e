import { expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseAllowance } from '../../../../scheduler/settings/allowance.ts';
import { readWaiting } from '../../../../scheduler/release/removals/waiting.ts';
import { ours } from '../../fleet-platform.ts';
import { makeBuiltOffice, NOW, type Office, registration, summarise, workload } from './office.ts';

const map = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: b${more}}\n`;
const maps = (count: number, prefix = 'm'): string =>
  Array.from({ length: count }, (_, at) => map(`${prefix}${at}`)).join('---\n');

/** Beside the hosts of the office: a cluster type with a namespace and configuration from the platform, and one application. */
const CLUSTER = {
  'platform/base/edge.yaml': ours(
    'ClusterType',
    'edge',
    '  labels: {place: cloud}\nspec: {namespaceService: namespace, configType: configmap}\n',
  ),
  'platform/base/cloud.yaml': ours(
    'SchedulingPolicy',
    'clouds',
    'spec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {runs: cloud}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {place: cloud}}}\n',
  ),
  'platform/base/config.yaml': ours('Config', 'all', 'spec:\n  values: {region: eu}\n'),
  'platform/base/shop.yaml': registration('shop'),
  'apps/shop/deploy/workload.yaml': workload(
    'shop',
    '    - {name: web, environment: prod, labels: {runs: cloud}, manifests: {path: manifests}}\n',
  ),
  'apps/shop/manifests/all.yaml': maps(12),
  'apps/shop/manifests/two.yaml': maps(2, 'n'),
};

const ALL = 'apps/shop/manifests/all.yaml';
const TWO = 'apps/shop/manifests/two.yaml';
const comment = (text: string): string => text.replaceAll(/^/gm, '# ');
const edge = async (office: Office, options = {}): Promise<readonly string[]> => {
  const outcome = await office.build({ now: new Date(NOW.getTime() + 60_000), ...options });
  return summarise({ channels: outcome.channels.filter(({ clusterType }) => clusterType === 'edge') });
};

test('an application with only comments in its files keeps its package, until that is allowed by name', async () => {
  const office = await makeBuiltOffice(CLUSTER);
  for (const file of [ALL, TWO]) await office.edit(file, comment);
  const reason =
    'shop-web: all 14 objects of its application, which is still assigned and brings none (ConfigMap prod-edge-shop-web/m0, ConfigMap prod-edge-shop-web/m1, ConfigMap prod-edge-shop-web/m10, ConfigMap prod-edge-shop-web/m11, ConfigMap prod-edge-shop-web/m2, ConfigMap prod-edge-shop-web/m3, ConfigMap prod-edge-shop-web/m4, ConfigMap prod-edge-shop-web/m5 and 6 more)';
  const outcome = await office.build();
  const { waits } = outcome.channels.find(({ clusterType }) => clusterType === 'edge') ?? {};
  expect(waits).toMatchObject({
    code: 'REMOVALS_HELD',
    message: 'the release would remove objects of shop-web, although it is still assigned',
    hint: expect.stringContaining('--allow-removals shop-web') as string,
  });
  expect(await edge(office)).toEqual(['edge unchanged 1', `  keeps ${reason}`]);
  expect(
    await readWaiting(await openLayout(office.layout), { environment: 'prod', clusterType: 'edge' }),
  ).toEqual([`REMOVALS_HELD: would remove ${reason}`]);
  expect(await edge(office, { allowRemovals: parseAllowance(['shop-web']) })).toEqual([
    'edge released 2',
    `  ${reason}`,
  ]);
  // The next build asks nothing any more.
  expect(await edge(office)).toEqual(['edge unchanged 2']);
});

test('a file that declares nothing any more keeps the package', async () => {
  const office = await makeBuiltOffice(CLUSTER);
  await office.edit(TWO, comment);
  expect(await edge(office)).toEqual([
    'edge unchanged 1',
    '  keeps shop-web: 2 of the 14 objects of its application: two.yaml still exists and declares none (ConfigMap prod-edge-shop-web/n0, ConfigMap prod-edge-shop-web/n1)',
  ]);
});

test('a change that removes most objects keeps the package, even if it adds others', async () => {
  const office = await makeBuiltOffice(CLUSTER);
  await office.edit(ALL, () => maps(12, 'other'));
  expect((await edge(office)).map((line) => line.slice(0, 86))).toEqual([
    'edge unchanged 1',
    '  keeps shop-web: 12 of the 14 objects of its application, which is still assigned (Co',
  ]);
});

test.for<[string, (office: Office) => Promise<void>]>([
  ['a deleted file of some objects', (office) => office.edit(TWO, undefined)],
  ['some objects fewer in a file', (office) => office.edit(ALL, () => maps(6))],
  ['a changed object', (office) => office.edit(TWO, (text) => text.replace('a: b', 'a: c'))],
  [
    'a changed configuration',
    (office) => office.edit('platform/base/config.yaml', (t) => t.replace('eu', 'us')),
  ],
  [
    'an object that moves to another file',
    async (office) => {
      await office.edit(ALL, (text) => `${text}---\n${maps(2, 'n')}`);
      await office.edit(TWO, comment);
    },
  ],
])('%s is released without a confirmation', async ([, change]) => {
  const office = await makeBuiltOffice(CLUSTER);
  await change(office);
  expect(await edge(office)).toEqual(['edge released 2']);
});

test('objects with a new content hash in their name are released without a confirmation', async () => {
  const hashed = (hash: string): string =>
    Array.from({ length: 8 }, (_, at) => map(`g${at}-${hash}`)).join('---\n');
  const office = await makeBuiltOffice({ ...CLUSTER, [ALL]: hashed('2456789bcd'), [TWO]: map('one') });
  await office.edit(ALL, () => hashed('kmt2456789'));
  expect(await edge(office)).toEqual(['edge released 2']);
});

test('a host package that declares nothing any more is kept', async () => {
  const office = await makeBuiltOffice();
  await office.edit('apps/info/host/package.yaml', () => ours('HostPackage', 'files', 'spec: {}\n'));
  const outcome = await office.build();
  expect(summarise(outcome)).toEqual([
    'press unchanged 1',
    '  keeps info-screen: the only object of its application, which is still assigned and brings none (file /opt/info)',
    'till unchanged 1',
  ]);
});
