import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type FleetError, formatError } from '#bundles/errors';
import { prepareManifest } from '../../../../scheduler/assemble/bundle/prepare-manifest.ts';
import type { ManifestCache } from '../../../../scheduler/assemble/bundle/prepared-manifest.ts';
import { UNBOUND } from '../../../../scheduler/assemble/bundle/tenancy.ts';

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
    bounds: UNBOUND,
  };
  const made = prepareManifest(input, cache, problems);
  return { ...made, objects: made.objects(), problems: problems.map(formatError) };
};

test('what was prepared for one namespace serves the next, to the byte and the place', () => {
  const shared: ManifestCache = new Map();
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

test('a text that does not name its namespace gets the namespace of each package, of whatever length', () => {
  const cache: ManifestCache = new Map();
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n';
  for (const namespace of ['dev-a-b', 'dev-kiosk-shop-web', 'dev-a', 'qa-a-b1']) {
    const made = prepare(text, namespace, cache);
    expect(made).toEqual(prepare(text, namespace, new Map()));
    expect(made.text).toContain(`namespace: ${namespace}\n`);
  }
});

test('a text that differs in more than the namespace is another one', () => {
  const cache: ManifestCache = new Map();
  const one = prepare(deployment('dev-a-b-c'), 'dev-a-b-c', cache);
  const other = prepare(deployment('dev-a-b-d').replace('"no"', '"on"'), 'dev-a-b-d', cache);
  expect(other.text).toBe(one.text.replaceAll('dev-a-b-c', 'dev-a-b-d').replace('"no"', '"on"'));
});

test('a message quotes what is written, and a mistake is found in every package', () => {
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

test('advice names what is written in each namespace, and its file', () => {
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

test('a file that is not UTF-8 is an error, also where only a comment has the wrong bytes', () => {
  const latin = Buffer.concat([Buffer.from([0x23, 0x20, 0xe4, 0x0a]), Buffer.from(deployment('dev-a-b-c'))]);
  expect(prepare(latin, 'dev-a-b-c', new Map()).problems).toEqual([
    expect.stringContaining('YAML_SYNTAX: this is not YAML: it is not text in UTF-8'),
  ]);
});

test('offline is another question', () => {
  const cache: ManifestCache = new Map();
  const text = deployment('dev-a-b-c').replace(
    'name: web\n',
    'name: web\n          imagePullPolicy: Always\n',
  );
  expect(prepare(text, 'dev-a-b-c', cache).problems).toEqual([]);
  expect(prepare(text, 'dev-a-b-c', cache, true).problems).toEqual([expect.stringContaining('PULL_POLICY')]);
});

test('a number is left as its author wrote it, for kubectl reads some otherwise than YAML 1.2', () => {
  const values = ['0644', '0o644', '0x1F', '1.10', '1e3', '-0', '+5', '.5', '12345678901234567890'];
  const lines = values.map((value, index) => `  n${index}: ${value}\n`).join('');
  const text = `apiVersion: v1\nkind: Example\nmetadata:\n  name: modes\n  namespace: shop\nspec:\n${lines}`;
  expect(prepare(text, 'shop', new Map()).text).toBe(text);
});
