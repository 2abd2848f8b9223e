import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { digestOf } from '#bundles/digest';
import { type FleetError, formatError } from '#bundles/errors';
import { prepareManifest } from '../../../../scheduler/assemble/bundle/prepare-manifest.ts';
import type { ManifestCache, TextCache } from '../../../../scheduler/assemble/bundle/prepared-manifest.ts';
import { UNBOUNDED } from '../../../../scheduler/assemble/bundle/tenancy.ts';

const IMAGE = `nginx@${digestOf('nginx')}`;
const deployment = (namespace: string) => `# Comments stay.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {in: "${namespace}", yes: "no"}}
spec:
  template:
    spec:
      containers:
        - name: web
          image: ${IMAGE}
          env: [{name: HOST, value: api.${namespace}.svc}, {name: OTHER, value: ${namespace}-2}]
---
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
`;

const prepare = (content: Buffer | string, namespace: string, cache: ManifestCache, offline = false) => {
  const problems: FleetError[] = [];
  const input = {
    shown: `${namespace}.yaml`,
    content,
    namespace,
    offline,
    imageLocks: new Map(),
    bounds: UNBOUNDED,
  };
  const made = prepareManifest(input, cache, problems);
  return { ...made, objects: made.objects(), problems: problems.map(formatError) };
};

test('a manifest prepared from the cache for another namespace has the same bytes and positions as without cache', () => {
  const shared = new Map<string, TextCache>();
  for (const namespace of [
    'dev-edge-shop-web',
    'dev-kiosk-shop-we',
    'qa-1e5-a-b',
    '1-2-3-4',
    'x'.repeat(63),
  ]) {
    const text = deployment(namespace);
    const alone = prepare(text, namespace, new Map());
    expect(prepare(text, namespace, shared)).toEqual(alone);
    expect(prepare(text, namespace, shared)).toEqual(alone);
    expect(alone.text).toContain(`value: api.${namespace}.svc`);
    expect(alone.objects.map(({ name, namespace: own, at }) => [name, own, at.line])).toEqual([
      ['web', undefined, 2],
      [namespace, undefined, 13],
    ]);
  }
  // Two of one length are one entry.
  expect(shared.size).toBe(4);
});

test('a template without a namespace gets the namespace of each package, of any length', () => {
  const cache: ManifestCache = new Map();
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n';
  for (const namespace of ['dev-a-b', 'dev-kiosk-shop-web', 'dev-a', 'qa-a-b1']) {
    const made = prepare(text, namespace, cache);
    expect(made).toEqual(prepare(text, namespace, new Map()));
    expect(made.text).toContain(`namespace: ${namespace}\n`);
  }
});

test('a manifest that differs in more than the namespace is not taken from the cache', () => {
  const cache: ManifestCache = new Map();
  const one = prepare(deployment('dev-a-b-c'), 'dev-a-b-c', cache);
  const other = prepare(deployment('dev-a-b-d').replace('"no"', '"on"'), 'dev-a-b-d', cache);
  expect(other.text).toBe(one.text.replaceAll('dev-a-b-c', 'dev-a-b-d').replace('"no"', '"on"'));
});

test('an error quotes the text of its own package, and is reported in every package', () => {
  const cache: ManifestCache = new Map();
  for (const namespace of ['dev-a-b-c', 'dev-a-b-d']) {
    const text = deployment(namespace).replace(IMAGE, `registry.example/${namespace}:1`);
    expect(prepare(text, namespace, cache).problems).toEqual([
      expect.stringContaining(
        `${namespace}.yaml:10:18: IMAGE_UNPINNED: the image registry.example/${namespace}:1 has no digest`,
      ),
    ]);
  }
});

test('advice quotes the text of its own namespace and file', () => {
  const cache: ManifestCache = new Map();
  for (const namespace of ['dev-a-b-c', 'dev-a-b-d']) {
    const text = `apiVersion: example.com/v1\nkind: Db\nmetadata: {name: ${namespace}}\nspec: {image: "edge.example/${namespace}:1"}\n`;
    const advice = prepare(text, namespace, cache).suspects?.map(formatError);
    expect(advice).toEqual(prepare(text, namespace, new Map()).suspects?.map(formatError));
    expect(advice).toEqual([
      expect.stringContaining(
        `${namespace}.yaml:4:15: IMAGE_UNKNOWN: Db ${namespace}: spec.image may be the image edge.example/${namespace}:1`,
      ),
    ]);
  }
});

test('a file that is not UTF-8 is an error, even if only a comment has invalid bytes', () => {
  const latin = Buffer.concat([Buffer.from([0x23, 0x20, 0xe4, 0x0a]), Buffer.from(deployment('dev-a-b-c'))]);
  expect(prepare(latin, 'dev-a-b-c', new Map()).problems).toEqual([
    expect.stringContaining('YAML_SYNTAX: this is not YAML: it is not text in UTF-8'),
  ]);
});

test('a manifest cached for an online cluster type is checked again for an offline one', () => {
  const cache: ManifestCache = new Map();
  const text = deployment('dev-a-b-c').replace(
    'name: web\n',
    'name: web\n          imagePullPolicy: Always\n',
  );
  expect(prepare(text, 'dev-a-b-c', cache).problems).toEqual([]);
  expect(prepare(text, 'dev-a-b-c', cache, true).problems).toEqual([expect.stringContaining('PULL_POLICY')]);
});

test('numbers are written as their author wrote them, because kubectl reads some differently than YAML 1.2', () => {
  const values = ['0644', '0o644', '0x1F', '1.10', '1e3', '-0', '+5', '.5'];
  const lines = values.map((value, index) => `  n${index}: ${value}\n`).join('');
  const text = `apiVersion: v1\nkind: Example\nmetadata:\n  name: modes\n  namespace: shop\nspec:\n${lines}`;
  expect(prepare(text, 'shop', new Map()).text).toBe(text);
});

const meter = (value: string): string =>
  `apiVersion: meters.example/v1\nkind: Meter\nmetadata: {name: m}\nspec:\n  serial: ${value}\n`;

test.each([
  '9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  '017',
  '0o17',
  '1_000',
  '1e3',
  '.5',
  '1e400',
])('a number is written unchanged: %s', (value) => {
  const { text, problems } = prepare(meter(value), 'shop', new Map());
  expect(problems).toEqual([]);
  expect(text).toContain(`serial: ${value}\n`);
});

test.each([
  ['9223372036854775808', '9223372036854775808 does not fit into 64 bits, and the API server would round it'],
  [
    '-9223372036854775809',
    '-9223372036854775809 does not fit into 64 bits, and the API server would round it',
  ],
  [
    '18446744073709551616',
    '18446744073709551616 does not fit into 64 bits, and the API server would round it',
  ],
  ['0x8000000000000000', '0x8000000000000000 does not fit into 64 bits, and the API server would round it'],
  ['.inf', '.inf is a number that JSON lacks'],
  ['-.Inf', '-.Inf is a number that JSON lacks'],
  ['.nan', '.nan is a number that JSON lacks'],
])('a number that the API server would round is refused with its position: %s', (value, says) => {
  const { problems } = prepare(meter(value), 'shop', new Map());
  expect(problems).toEqual([
    `shop.yaml:5:11: OBJECT_INVALID: ${says}. Put it in quotes if the field takes text; else write another number.`,
  ]);
});

test('merge keys are resolved as Kustomize does', () => {
  const text = `apiVersion: v1
kind: ConfigMap
metadata:
  name: two
  labels: &common {team: b, tier: db}
  annotations: {tier: web, <<: *common}
  finalizers: [a.example/b]
data: {<<: [{x: "1"}, {x: "2", y: "3"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - &first
      name: one
      image: ${IMAGE}
      env: &env [{name: A, value: b}]
    - {<<: *first, name: two}
  initContainers:
    - name: zero
      image: ${IMAGE}
      env: *env
`;
  const { text: made, problems } = prepare(text, 'shop', new Map());
  expect(problems).toEqual([]);
  const [map, pod] = parseAllDocuments(made).map((one) => one.toJS() as never) as unknown as [
    { metadata: { annotations: unknown }; data: unknown },
    { spec: { containers: { name: string; env: unknown }[]; initContainers: { env: unknown }[] } },
  ];
  expect(map.metadata.annotations).toEqual({ team: 'b', tier: 'web' });
  expect(map.data).toEqual({ x: '1', y: '3' });
  expect(pod.spec.containers.map(({ name, env }) => ({ name, env }))).toEqual([
    { name: 'one', env: [{ name: 'A', value: 'b' }] },
    { name: 'two', env: [{ name: 'A', value: 'b' }] },
  ]);
  expect(pod.spec.initContainers[0]?.env).toEqual([{ name: 'A', value: 'b' }]);
});

test.each(['text', '[1]', 'null'])('a merge key without a mapping is refused: %s', (value) => {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  <<: ${value}\n`;
  expect(prepare(text, 'shop', new Map()).problems).toEqual([
    'shop.yaml:5:7: YAML_SYNTAX: a merge key (<<) needs a mapping, or a list of mappings. Write "<<": in quotes if the field has that name.',
  ]);
});

test('a chosen namespace that is a word of the text changes nothing but the namespace', () => {
  const text = deployment('containers');
  const ask = (isChosen: boolean) => {
    const input = { shown: 'a.yaml', content: text, namespace: 'containers', isChosen, offline: false };
    return prepareManifest({ ...input, imageLocks: new Map(), bounds: UNBOUNDED }, new Map(), []);
  };
  expect(ask(true).images).toEqual([`docker.io/library/${IMAGE}`]);
  expect(ask(false).images).toEqual([]);
});
