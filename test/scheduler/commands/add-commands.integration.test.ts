import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { readTree, temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform } from '../fleet-platform.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../kalypso-platform.ts';

const adder = (directory: string, ...more: readonly string[]) => {
  const env = { PATH: process.env['PATH'], HOME: directory, XDG_CACHE_HOME: join(directory, '.cache') };
  return (...words: readonly string[]) => runScheduler(directory, ['add', ...words, ...more], env);
};

test('a platform grows from an empty directory, object by object, and validates', async () => {
  const root = await temporaryDirectory();
  const add = adder(root, '--platform', 'p');
  await writeFiles(root, { 'namespace.hbs': 'kind: Namespace\nname: {{namespace}}\n', 'p/notes.txt': '' });
  expect(await add('cluster-type', 'press')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/p is not a platform\. Begin one with fleet-scheduler add environment/),
  });
  const words = [
    ['environment', 'dev', '--fleet', 'acme'],
    ['environment', 'prod', '--promoted-from', 'dev'],
    ['cluster-type', 'press', '--label', 'place=factory', '--namespace-service', 'space', '--offline'],
    ['template', 'space', '--type', 'namespace', '--manifest', 'namespace.hbs'],
    ['config', 'factories', '--select', 'place=factory', 'mqtt.broker=b', 'mqtt.port=1883', 'tls=yes'],
    ['config', 'north', '--site-select', 'region=north', 'gate=10.0.0.1'],
    ['config', 'loud', '-e', 'prod', 'level=debug'],
    ['policy', 'floor', '--target-label', 'runs=factory', '--type-label', 'place=factory'],
  ];
  for (const one of words) expect(await add(...one)).toMatchObject({ code: 0 });
  expect(await add('environment', 'prod')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('p/fleet.yaml:1:1: NAME_CLASH'),
  });
  const tree = await readTree(join(root, 'p'));
  expect(Object.keys(tree)).toEqual([
    'base/cluster-types/press.yaml',
    'base/configs/factories.yaml',
    'base/configs/north.yaml',
    'base/policies/floor.yaml',
    'base/templates/space.yaml',
    'environments/prod/configs/loud.yaml',
    'fleet.yaml',
    'notes.txt',
  ]);
  expect(tree['base/configs/factories.yaml']).toContain(
    'selector:\n    place: factory\n  values:\n    mqtt:\n      broker: b\n      port: 1883\n    tls: "yes"\n',
  );
  expect(tree['fleet.yaml']).toContain('    - name: dev\n    - name: prod\n      promotedFrom: dev\n');
  expect(await runScheduler(root, ['validate', '--platform', 'p'])).toMatchObject({ code: 0 });
});

test('--dry-run prints the difference and the assignments, writes nothing, and prints the same again', async () => {
  const root = await temporaryDirectory();
  await writeFiles(root, fleetPlatform());
  const add = adder(root, '--platform', 'platform', '--dry-run');
  const before = await readTree(root);
  const first = await add('cluster-type', 'line', '--label', 'region=eu');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toBe(`--- /dev/null
+++ b/base/line.yaml
@@ -1,0 +1,7 @@
+apiVersion: fleet-ferry/v1alpha1
+kind: ClusterType
+metadata:
+  name: line
+  labels:
+    region: eu
+spec: {}
qa: 1 assignment added (line/shop-web)
prod: 1 assignment added (line/shop-web)
ClusterType line: nothing written
`);
  expect(await add('cluster-type', 'line', '--label', 'region=eu')).toEqual(first);
  expect(await readTree(root)).toMatchObject(before);
  expect(JSON.parse((await add('cluster-type', 'line', '--json')).stdout)).toMatchObject({
    outcome: 'planned',
    files: [{ path: 'base/line.yaml', outcome: 'created' }],
    assignments: [
      { environment: 'qa', clusterType: 'line', assignment: 'shop-web', outcome: 'created' },
      { environment: 'prod', clusterType: 'line', assignment: 'shop-web', outcome: 'created' },
    ],
  });
});

test.each([
  [['cluster-type', '../../x'], /NAME_INVALID: ClusterType: "\.\.\/\.\.\/x" is not an object name/],
  [['cluster-type', 'Line'], /NAME_INVALID/],
  [['cluster-type', 'edge'], /platform\/base\/edge\.yaml:1:1: NAME_CLASH/],
  [['cluster-type', 'line', '--target', 'toaster'], /platform\/base\/line\.yaml:6:11: FIELD_INVALID/],
  [['cluster-type', 'line', '--config-type', 'nope'], /platform\/base\/line\.yaml:6:15: REFERENCE_MISSING/],
  [['cluster-type', 'line', '-e', 'prdo'], /no environment "prdo"\. Did you mean prod\?/],
  [['cluster-type', 'line', '--pull-request'], /is a directory, which has no pull requests/],
  [['workload', 'x', '--repo', '../apps/nowhere'], /platform\/base\/x\.yaml:7:5: SOURCE_MISSING/],
  [['policy', 'x', '--target-label', 'a'], /is not <label>=<value>/],
  [['config', 'x'], /the layer has no values/],
  [['config', 'x', 'a=1', 'a.b=2'], /a\.b is given twice/],
  [['config', 'x', '--fixed', 'a=1'], /platform\/base\/x\.yaml:6:\d+: FIELD_INVALID/],
  [['environment', 'x', '--repo', 'https://git.example/x'], /--repo is for a platform in Kalypso's form/],
])('%j is refused, and nothing is written', async (words, message) => {
  const root = await temporaryDirectory();
  await writeFiles(root, fleetPlatform());
  const before = await readTree(join(root, 'platform'));
  const { code, stderr } = await adder(root, '--platform', 'platform')(...words);
  expect(stderr).toMatch(message);
  expect(code).not.toBe(0);
  expect(await readTree(join(root, 'platform'))).toEqual(before);
});

test("Kalypso's own layout gets its own kinds, in the branch that has them", async () => {
  const root = await temporaryDirectory();
  for (const [folder, files] of [
    ['main', kalypsoMain()],
    ['dev', kalypsoDev()],
    ['shop', shopRepository()],
  ] as const)
    await writeFiles(join(root, folder), files);
  const maps = [`${CONTROL_PLANE}#dev=dev`, `${CONTROL_PLANE}#main=main`, `${SHOP}=shop`];
  const add = adder(root, '--platform', 'main', ...maps.flatMap((map) => ['--map', map]));
  const before = { main: await readTree(join(root, 'main')), dev: await readTree(join(root, 'dev')) };
  const templates = ['--reconciler', 'rec', '--namespace-service', 'ns', '--config-type', 'cfg'];
  expect(await add('cluster-type', 'line', '--label', 'region=eu')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /dev\/types\/line\.yaml:7:7: FIELD_INVALID: ClusterType line: spec\.reconciler is missing\..*\n.*namespaceService is missing.*\n.*configType is missing/,
    ),
  });
  expect(await add('cluster-type', 'line', '--label', 'region=eu', ...templates)).toMatchObject({
    code: 0,
    stdout: `dev: 1 assignment added (line/shop-web)\nClusterType line: ${root}/dev/types/line.yaml written\n`,
  });
  expect(await add('config', 'lines', '--select', 'region=eu', 'port=80')).toMatchObject({ code: 0 });
  await writeFiles(root, { 'more.txt': 'a: {{ .Namespace }}\n' });
  expect(await add('template', 'more', '--type', 'config', '--manifest', 'more.txt')).toMatchObject({
    code: 0,
  });
  const after = { main: await readTree(join(root, 'main')), dev: await readTree(join(root, 'dev')) };
  expect(after.dev).toEqual({
    ...before.dev,
    'types/line.yaml': expect.stringContaining(
      'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\n',
    ),
    'configs/lines.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: lines
  labels:
    platform-config: "true"
    region: eu
data:
  port: "80"
`,
  });
  expect(after.main).toEqual({
    ...before.main,
    'templates/all.yaml': expect.stringContaining(String(before.main['templates/all.yaml']).trimEnd()),
  });
});
