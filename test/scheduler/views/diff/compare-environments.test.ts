import { expect, test } from 'vitest';
import { FleetError } from '../../../../bundles/errors.ts';
import { compareEnvironments, differs } from '../../../../scheduler/views/diff/compare-environments.ts';
import type { EnvironmentView } from '../../../../scheduler/views/diff/view-environment.ts';

type Packages = Record<string, Record<string, Record<string, string>>>;

/** Cluster type to assignment to file to text. */
const view = (packages: Packages, held: Record<string, string[]> = {}): EnvironmentView => ({
  files: new Map(),
  isKept: (folder) =>
    Object.entries(held).some(([type, names]) => names.some((name) => folder === `${type}/${name}`)),
  clusterTypes: new Map(
    Object.entries(packages).map(([type, assignments]) => [
      type,
      {
        readAssignments: () =>
          new Map(
            Object.entries(assignments).map(([name, files]) => [
              name,
              new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
            ]),
          ),
        held: new Map(
          (held[type] ?? []).map((name) => [name, new FleetError('TEMPLATE_FAILED', 'it broke')]),
        ),
      },
    ]),
  ),
});

const deployment = (name: string, image: string, namespace = 'web'): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  template:
    spec:
      containers:
        - {name: main, image: "${image}"}
`;

const compare = (before: EnvironmentView, after: EnvironmentView) => {
  const [type] = compareEnvironments('dev', before, after).clusterTypes;
  if (!type) throw new Error('no cluster type');
  return type;
};

test('objects are matched by identity, in any file and formatting', () => {
  const before = view({
    edge: { shop: { 'a.yaml': `${deployment('one', 'nginx:1')}---\n${deployment('two', 'nginx:1')}` } },
  });
  const moved = view({
    edge: {
      shop: {
        'b.yaml': `# the same\n${deployment('two', 'nginx:1').replace('apps/v1', '"apps/v1"')}`,
        'a.yaml': deployment('one', 'nginx:1'),
      },
    },
  });
  const type = compare(before, moved);
  expect(type.counts).toEqual({ created: 0, configured: 0, deleted: 0, unchanged: 2 });
  expect(type.assignments.map(({ outcome, reformatted }) => [outcome, reformatted])).toEqual([
    ['configured', ['a.yaml']],
  ]);
});

test('reports created, configured and deleted objects with their difference, and images with their versions', () => {
  const before = view({
    edge: {
      shop: {
        'a.yaml': `${deployment('one', 'r.example:5000/nginx:1')}---\n${deployment('two', 'b@sha256:aa')}`,
      },
    },
  });
  const after = view({
    edge: {
      shop: {
        'a.yaml': `${deployment('one', 'r.example:5000/nginx:2')}---\n${deployment('new', 'b@sha256:aa')}`,
      },
    },
  });
  const type = compare(before, after);
  expect(type.assignments[0]?.objects.map(({ object, outcome }) => [object, outcome])).toEqual([
    ['Deployment.apps web/new', 'created'],
    ['Deployment.apps web/one', 'configured'],
    ['Deployment.apps web/two', 'deleted'],
  ]);
  expect(type.assignments[0]?.objects[1]?.diff).toBe(`@@ -8,4 +8,4 @@
     spec:
       containers:
         - name: main
-          image: r.example:5000/nginx:1
+          image: r.example:5000/nginx:2
`);
  expect(type.images).toEqual([{ image: 'r.example:5000/nginx', from: [':1'], to: [':2'] }]);
});

test('values of Secrets are not shown, only which of them differ', () => {
  const secret = (values: string, kind = 'Secret') =>
    `apiVersion: v1\nkind: ${kind}\nmetadata: {name: s}\n${values}\n`;
  const before = view({
    edge: { shop: { 'a.yaml': secret('stringData: {one: hunter2, two: same, gone: old-secret}') } },
  });
  const after = view({
    edge: { shop: { 'a.yaml': secret('stringData: {one: hunter3, two: same, new: new-secret}') } },
  });
  const told = JSON.stringify(compareEnvironments('dev', before, after));
  expect(told).not.toMatch(/hunter|secret"|old-secret|new-secret/);
  expect(told).toContain('*** (before)');
  expect(told).toContain('*** (after)');
  // In a list, and where the YAML cannot be read.
  const list = view({
    edge: {
      shop: {
        'a.yaml': `apiVersion: v1\nkind: List\nitems:\n- ${secret('data: {k: aHVudGVyMg==}').trim().replaceAll('\n', '\n  ')}\n`,
      },
    },
  });
  const broken = view({ edge: { shop: { 'a.yaml': secret('data: {k: aHVudGVyMg==') } } });
  for (const other of [list, broken]) {
    const said = JSON.stringify(compareEnvironments('dev', view({ edge: { shop: {} } }), other));
    expect(said).toContain('"created"');
    expect(said).not.toContain('aHVudGVyMg');
  }
  expect(JSON.stringify(compareEnvironments('dev', view({ edge: { shop: {} } }), list))).toContain(
    'Secret s',
  );
});

test('a held assignment is unchanged; one that was held and is built again is restored', () => {
  const good = view({ edge: { shop: { 'a.yaml': deployment('one', 'nginx:1') } } });
  const held = view({ edge: {} }, { edge: ['shop'] });
  const broken = compare(good, held);
  expect(broken.counts).toEqual({ created: 0, configured: 0, deleted: 0, unchanged: 1 });
  expect(broken.images).toEqual([]);
  expect(broken.assignments).toMatchObject([
    { assignment: 'shop', outcome: 'held', error: { code: 'TEMPLATE_FAILED' } },
  ]);
  expect(compare(held, good).assignments).toMatchObject([
    { outcome: 'healed', objects: [{ outcome: 'created' }] },
  ]);
  expect(compare(held, held)).toMatchObject({ outcome: 'unchanged', assignments: [] });
});

test('added and removed cluster types and assignments are created and deleted', () => {
  const one = view({ edge: { shop: { 'x.sh': 'echo 1\n' } } });
  const two = view({ edge: { shop: { 'x.sh': 'echo 2\n' }, till: { 'y.yaml': 'free: text\n' } }, drone: {} });
  const diff = compareEnvironments('dev', one, two);
  expect(diff.clusterTypes.map(({ clusterType, outcome }) => [clusterType, outcome])).toEqual([
    ['drone', 'created'],
    ['edge', 'configured'],
  ]);
  expect(diff.clusterTypes[1]?.assignments.map(({ assignment, outcome }) => [assignment, outcome])).toEqual([
    ['shop', 'configured'],
    ['till', 'created'],
  ]);
  expect(differs(diff)).toBe(true);
  expect(differs(compareEnvironments('dev', two, two))).toBe(false);
  expect(compareEnvironments('dev', two, undefined).clusterTypes.map(({ outcome }) => outcome)).toEqual([
    'deleted',
    'deleted',
  ]);
});

test('binary files, expanding aliases and unrelated texts are reported briefly', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
  for (const [at, name] of Array.from('bcdefgh').entries())
    bomb.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[at]}`).join(',')}]`);
  const before = view({
    edge: { shop: { 'a.bin': 'a\0b', 'b.yaml': 'x: 1\n', 'c.txt': 'a\n'.repeat(20_000) } },
  });
  const after = view({
    edge: { shop: { 'a.bin': 'a\0c', 'b.yaml': `${bomb.join('\n')}\n`, 'c.txt': 'b\n'.repeat(20_000) } },
  });
  const [one] = compare(before, after).assignments;
  expect(one?.objects.map(({ object }) => object)).toEqual(['a.bin', 'b.yaml', 'c.txt']);
  expect(one?.objects[0]?.diff).toMatch(/^-binary, 3 bytes, sha256:[0-9a-f]{12}$/m);
  expect(one?.objects[2]?.diff).toBe('@@ more than 1000 lines differ @@\n');
});

test('packages that do not differ are counted by objects, also where they are read once for many namespaces', () => {
  const shop = (namespace: string, image: string) => ({
    'all.yaml': `${deployment('one', image, namespace)}---\n${deployment('two', 'nginx:1', namespace)}`,
    'notes.txt': `of ${namespace}\n`,
  });
  const before = view({
    edge: { shop: shop('edge-shop', 'nginx:1'), cafe: shop('edge-cafe', 'nginx:1') },
    press: { shop: shop('press-shop', 'nginx:1'), cafe: shop('press-cafe', 'nginx:1') },
  });
  const after = view({
    edge: { shop: shop('edge-shop', 'nginx:1'), cafe: shop('edge-cafe', 'nginx:2') },
    press: { shop: shop('press-shop', 'nginx:1'), cafe: shop('press-cafe', 'nginx:1') },
  });
  const namesOf = (type: string) => new Map(['shop', 'cafe'].map((name) => [name, `${type}-${name}`]));
  const named = (one: EnvironmentView): EnvironmentView => ({
    ...one,
    clusterTypes: new Map(
      [...one.clusterTypes].map(([type, types]) => [type, { ...types, namespaces: namesOf(type) }]),
    ),
  });
  const { clusterTypes } = compareEnvironments('dev', named(before), named(after));
  expect(clusterTypes).toEqual(compareEnvironments('dev', before, after).clusterTypes);
  expect(clusterTypes.map(({ counts }) => counts)).toEqual([
    { created: 0, configured: 1, deleted: 0, unchanged: 5 },
    { created: 0, configured: 0, deleted: 0, unchanged: 6 },
  ]);
  expect(clusterTypes[0]?.images).toEqual([{ image: 'nginx', from: [':1'], to: [':1', ':2'] }]);
});
