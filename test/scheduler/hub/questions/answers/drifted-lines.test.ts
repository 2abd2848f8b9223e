import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { driftedLines } from '../../../../../scheduler/hub/questions/answers/drifted-lines.ts';
import { packageObjects } from '../../../../../scheduler/hub/questions/answers/package-objects.ts';

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const owned = { mode: '0644', owner: 'root', group: 'root' };

const HOST = new Map([
  [
    'package.json',
    json({
      id: 'oven',
      directories: [{ path: '/opt/oven', ...owned, mode: '0755' }],
      files: [{ path: '/etc/oven.conf', ...owned, content: 'oven.conf', digest: digestOf('a'), size: 1 }],
      units: [{ name: 'oven.service', enabled: true, active: true, restartOn: [] }],
      checks: [{ type: 'unit', name: 'oven-runs', unit: 'oven.service', stableSeconds: 1 }],
      install: {
        repository: '/opt/debs',
        packages: [
          { name: 'oven-tools', version: '1.2-1' },
          { name: 'libheat', version: '3.0', atLeast: true },
        ],
        conffiles: 'keep',
        onRemoval: 'remove',
        services: 'start',
      },
      playbooks: [
        {
          name: 'tune',
          folder: '/opt/oven/tune',
          playbook: 'site.yaml',
          files: [],
          collections: [],
          roles: [],
          become: true,
          order: 'before-units',
          timeoutSeconds: 60,
          checkSeconds: 0,
        },
      ],
      critical: ['debs', 'playbooks'],
    }),
  ],
  ['oven.conf', Buffer.from('a')],
]);

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels: { 'app.kubernetes.io/name': 'web' } },
  spec: { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'shop/web:1' }] } } },
};
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'door', namespace: 'shop' },
  stringData: { pin: 'hunter2' },
};
const KUBERNETES = new Map([
  ['web.json', json(deployment)],
  ['door.json', json(secret)],
]);

const named = (files: ReadonlyMap<string, Buffer>) =>
  packageObjects(files).map(({ group, key, wanted }) => [group, key, wanted]);

const diff = (files: ReadonlyMap<string, Buffer>, key: string, what: string, message: string) => {
  const object = packageObjects(files).find((one) => one.key === key);
  if (object === undefined) throw new Error(`no ${key}`);
  return driftedLines(object, { what, message });
};

test('a host package has its parts by kind, each once, with the keys of agents and what it wants', () => {
  expect(named(HOST)).toEqual([
    ['Checks', 'check:oven-runs', 'type: unit'],
    ['Debian packages', 'deb:libheat', 'version: 3.0 or newer'],
    ['Debian packages', 'deb:oven-tools', 'version: 1.2-1'],
    ['Directories', 'directory:/opt/oven', 'mode: 0755, owner: root:root'],
    ['Files', 'file:/etc/oven.conf', 'mode: 0644, owner: root:root'],
    ['Playbooks', 'playbook:/opt/oven/tune', 'playbook: site.yaml, runs: before-units'],
    ['Units', 'unit:oven.service', 'starts at boot: yes, runs: yes'],
  ]);
});

test('a package of Kubernetes has its objects by kind, with the keys of agents', () => {
  expect(named(KUBERNETES)).toEqual([
    ['Deployment', 'apps/Deployment/shop/web', null],
    ['Secret', '/Secret/shop/door', null],
  ]);
});

test.each([
  ['directory:/opt/oven', 'mode', '/opt/oven has mode 0777, not 0755', /^-  mode: 0755\n\+  mode: 0777$/m],
  [
    'directory:/opt/oven',
    'owner',
    '/opt/oven belongs to 1000:1000, not to root:root',
    /^-  owner: root:root\n\+  owner: 1000:1000$/m,
  ],
  ['directory:/opt/oven', 'missing', '/opt/oven is missing', /^-directory \/opt\/oven\n-  mode: 0755/m],
  [
    'file:/etc/oven.conf',
    'content',
    '/etc/oven.conf has other content than the package',
    /^\+  content: other content than in the package$/m,
  ],
  [
    'unit:oven.service',
    'disabled',
    'oven.service is disabled: it will not start at boot',
    /^-  starts at boot: yes\n\+  starts at boot: no$/m,
  ],
  [
    'unit:oven.service',
    'failed',
    'oven.service is failed (exit-code)',
    /^-  runs: yes\n\+  runs: no, it is failed \(exit-code\)$/m,
  ],
  [
    'deb:oven-tools',
    'version',
    'oven-tools is installed at 1.1-1, not at 1.2-1',
    /^-  version: 1.2-1\n\+  version: 1.1-1$/m,
  ],
])('drift of %s, %s, has the lines that differ', (key, what, message, lines) => {
  expect(diff(HOST, key, what, message)).toMatch(lines);
});

test('drift of fields of an object has these lines in their place, and who wrote them', () => {
  const lines = diff(
    KUBERNETES,
    'apps/Deployment/shop/web',
    'content',
    'Deployment shop/web: spec.replicas, metadata.labels.app.kubernetes.io/name, spec.template.spec.containers[0].image and 2 more differ (last written by kubectl-edit)',
  );
  expect(lines).toMatch(/^-  replicas: 3\n\+  replicas: another value, last written by kubectl-edit$/m);
  expect(lines).toMatch(/^-    app.kubernetes.io\/name: web\n\+    app.kubernetes.io\/name: another value/m);
  expect(lines).toMatch(/^-.*image: shop\/web:1\n\+.*image: another value/m);
});

test('drift of a field that the package does not have adds its line', () => {
  const message = 'Deployment shop/web: spec.paused differs';
  expect(diff(KUBERNETES, 'apps/Deployment/shop/web', 'content', message)).toMatch(
    /^\+  paused: another value$/m,
  );
});

test('drift of a Secret shows no value', () => {
  const message = 'Secret shop/door: stringData.pin differs (last written by kubectl)';
  expect(diff(KUBERNETES, '/Secret/shop/door', 'content', message)).not.toMatch(/hunter2/);
  expect(diff(KUBERNETES, '/Secret/shop/door', 'missing', 'Secret shop/door is not there')).not.toMatch(
    /hunter2/,
  );
});

test.each([
  ['apps/Deployment/shop/web', 'owner', 'Deployment shop/web is not marked as ours'],
  ['apps/Deployment/shop/web', 'content', 'it differs, and the server refuses'],
  ['apps/Deployment/shop/web', 'content', ''],
])('drift of %s without a line that it names has none: %s, %s', (key, what, message) => {
  expect(diff(KUBERNETES, key, what, message)).toBeNull();
});

test.each([
  ['that is long', `Deployment shop/web: ${'a differ (last written by : '.repeat(1000)}`],
  [
    'with many fields',
    `Deployment shop/web: ${Array.from({ length: 51 }, (_, n) => `f${n}`).join(', ')} differ`,
  ],
  ['of a path deeper than objects are', `Deployment shop/web: ${'a.'.repeat(50)}a differs`],
  ['of a path that no stack holds', `Deployment shop/web: ${'a.'.repeat(30_000)}a differs`],
])('a message %s, as no agent writes it, has no lines', (_, message) => {
  expect(diff(KUBERNETES, 'apps/Deployment/shop/web', 'content', message)).toBeNull();
});
