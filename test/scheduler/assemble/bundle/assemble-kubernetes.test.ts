import { expect, test } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { assembleKubernetes } from '../../../../scheduler/assemble/bundle/assemble-kubernetes.ts';
import type { ManifestCache } from '../../../../scheduler/assemble/bundle/prepared-manifest.ts';
import { imageRules } from '../../../../scheduler/assemble/images/image-rules.ts';
import { KNOWN_FIELDS } from '../../../../scheduler/assemble/images/known-fields.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../model-objects.ts';

const at = { file: 'x.yaml', line: 1, column: 1 };
const rendered = (files: Readonly<Record<string, string>>, offline = false) =>
  renderedPackage(
    clusterType('edge', { namespaceService: 'namespace', offline }),
    target('shop/web', { at }),
    {
      files: renderedFiles(files),
    },
  );
const application = (files: Readonly<Record<string, string>>) => ({
  shown: 'shop/',
  files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
});
const object = (kind: string, name: string, more = '') =>
  `apiVersion: ${kind === 'Deployment' ? 'apps/v1' : 'v1'}\nkind: ${kind}\nmetadata:\n  name: ${name}\n${more}`;
const textOf = (made: ReturnType<typeof assembleKubernetes>, path: string): string | undefined =>
  made.files.find((file) => file.path === path)?.bytes.toString();
const refusal = (call: () => unknown): FleetError => {
  try {
    call();
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error('it was let through');
};

test.each([
  [
    'kidn: Service\napiVersion: v1\nmetadata: {name: a}\n',
    'shop/x.yaml:1:1: OBJECT_INVALID: this object has no kind. Give it a kind.',
  ],
  [
    'kind: Service\nmetadata: {name: a}\n',
    'shop/x.yaml:1:1: OBJECT_INVALID: Service: this object has no apiVersion. Give it an apiVersion.',
  ],
  [
    'apiVersion: v1\nkind: Service\nmetadata: {nam: a}\n',
    'shop/x.yaml:1:1: OBJECT_INVALID: Service: this object has no metadata.name. Give it a metadata.name.',
  ],
  [
    'apiVersion: v1\nkind: List\n',
    'shop/x.yaml:1:1: OBJECT_INVALID: this List has no list of items. Give it items, or remove it.',
  ],
  [
    'apiVersion: v1\nkind: List\nitems: [a]\n',
    'shop/x.yaml:3:9: OBJECT_INVALID: List: an item of this list is not an object. Remove it.',
  ],
  ['replicas: 2\n', 'OBJECT_INVALID: this is not a Kubernetes object'],
  ['---\n- a\n', 'shop/x.yaml:2:1: OBJECT_INVALID: this is not a Kubernetes object'],
])('a document that no cluster accepts is refused, not omitted: %j', (text, expected) => {
  const error = refusal(() => assembleKubernetes(rendered({}), application({ 'x.yaml': text }), new Map()));
  expect(formatError(error)).toContain(expected);
});

test('an empty document is skipped, and a file that is not UTF-8 is YAML_SYNTAX', () => {
  const made = assembleKubernetes(
    rendered({}),
    application({ 'x.yaml': '---\n# later\n---\n~\n' }),
    new Map(),
  );
  expect(made.files.map(({ path }) => path)).toEqual(['kustomization.yaml']);
  const binary = { shown: 'shop/', files: new Map([['x.yaml', Buffer.from([0x61, 0x3a, 0xff, 0xfe])]]) };
  expect(refusal(() => assembleKubernetes(rendered({}), binary, new Map()))).toMatchObject({
    code: 'YAML_SYNTAX',
    at: { file: 'shop/x.yaml' },
  });
});

test('an error in a rendered file names the Template that wrote it', () => {
  const error = refusal(() =>
    assembleKubernetes(rendered({ 'namespace.yaml': 'a: : b' }), undefined, new Map()),
  );
  expect(formatError(error)).toContain(
    'shop-web/namespace.yaml:1:4: YAML_SYNTAX: what Template namespace wrote: this is not YAML',
  );
});

test("a namespaced object without a namespace gets the assignment's; an explicit namespace and cluster-wide objects stay unchanged", () => {
  const made = assembleKubernetes(
    rendered({}),
    application({
      'a.yaml': `${object('ConfigMap', 'a')}---\n${object('ConfigMap', 'b', '  namespace: shared\n')}---\n${object('Namespace', 'c')}`,
    }),
    new Map(),
  );
  expect(textOf(made, 'manifests/a.yaml')).toBe(
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: dev-edge-shop-web\n---\n' +
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: shared\n---\n' +
      'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: c\n',
  );
  expect(made.owns).toEqual(['ConfigMap dev-edge-shop-web/a', 'ConfigMap shared/b', 'Namespace c']);
});

test("unchanged documents keep the author's comments and quotes", () => {
  const text = `# why\n${object('ConfigMap', 'a', '  namespace: x\ndata:\n  k: "on" # quoted on purpose\n')}`;
  expect(
    textOf(assembleKubernetes(rendered({}), application({ 'a.yaml': text }), new Map()), 'manifests/a.yaml'),
  ).toBe(text);
});

test('two objects with the same identity are refused, with both positions', () => {
  const error = refusal(() =>
    assembleKubernetes(
      rendered({}),
      application({ 'a.yaml': object('ConfigMap', 'x'), 'b.yaml': object('ConfigMap', 'x') }),
      new Map(),
    ),
  );
  expect(error.code).toBe('OBJECT_CLASH');
  expect(error.at?.file).toBe('shop/b.yaml');
  expect(error.message).toContain('shop/a.yaml:1');
});

test('every mistake of a package is reported, not only the first', () => {
  const pod = (image: string) =>
    object(
      'Pod',
      image,
      `spec:\n  containers:\n    - name: c\n      image: ${image}\n      imagePullPolicy: Always\n`,
    );
  const error = refusal(() =>
    assembleKubernetes(
      rendered({}, true),
      application({ 'a.yaml': `${pod('one')}---\n${pod('two')}` }),
      new Map(),
    ),
  );
  expect(error.code).toBe('PLATFORM_INVALID');
  const all = error.cause as AggregateError;
  expect(all.errors.map((one: FleetError) => one.code)).toEqual([
    'PULL_POLICY',
    'IMAGE_UNPINNED',
    'PULL_POLICY',
    'IMAGE_UNPINNED',
  ]);
});

test('an image in an init container of an unknown kind is found and pinned', () => {
  const text =
    'apiVersion: example.org/v1\nkind: Machine\nmetadata:\n  name: m\nspec:\n  deep:\n    template:\n      initContainers:\n        - name: i\n          image: busybox:1\n';
  const pinned = `docker.io/library/busybox@sha256:${'b'.repeat(64)}`;
  const made = assembleKubernetes(
    rendered({}),
    application({ 'm.yaml': text }),
    new Map([['busybox:1', pinned]]),
  );
  expect(made.images).toEqual([pinned]);
  expect(textOf(made, 'manifests/m.yaml')).toContain(`image: ${pinned}`);
});

test('a broken YAML file is reported with its line', () => {
  const error = refusal(() =>
    assembleKubernetes(rendered({}), application({ 'a.yaml': 'a: [1\nb: 2\n' }), new Map()),
  );
  expect(error.code).toBe('YAML_SYNTAX');
  expect(error.at?.file).toBe('shop/a.yaml');
});

test('carries images that a chart lists without an object, except images that are marked as not needed', () => {
  const digest = `sha256:${'b'.repeat(64)}`;
  const images = ['quay.io/a/started:1', 'quay.io/a/debug:1'].map((image) => ({
    image,
    at: { file: 'shop/Chart.yaml', line: 5 },
  }));
  const chart = { ...application({ 'a.yaml': object('ConfigMap', 'a') }), images };
  const assemble = (charts: readonly string[]) => {
    const rules = imageRules([{ ...KNOWN_FIELDS, notImages: { fields: [], env: [], charts } }]);
    const locks = new Map([['quay.io/a/started:1', `quay.io/a/started@${digest}`]]);
    return assembleKubernetes(rendered({}), chart, locks, new Map(), undefined, rules);
  };
  expect(assemble(['*/debug:*']).images).toEqual([`quay.io/a/started@${digest}`]);
  expect(formatError(refusal(() => assemble([])))).toContain(
    'shop/Chart.yaml:5: IMAGE_UNPINNED: the image quay.io/a/debug:1 has no digest',
  );
});

test('two objects that collide in only one namespace are refused there, independent of the order of assembly', () => {
  const both = application({
    'x.yaml': `${object('Service', 'web')}---\n${object('Service', 'web', '  namespace: dev-a9\n')}`,
  });
  const cache: ManifestCache = new Map();
  const ownsIn = (namespace: string) =>
    assembleKubernetes(
      renderedPackage(clusterType('edge'), target('shop/web', { at }), { files: [], namespace }),
      both,
      new Map(),
      cache,
    ).owns;
  expect(['dev-a1', 'dev-a2'].map(ownsIn)).toEqual([
    ['Service dev-a1/web', 'Service dev-a9/web'],
    ['Service dev-a2/web', 'Service dev-a9/web'],
  ]);
  expect(() => ownsIn('dev-a9')).toThrow('is there twice');
});
