import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FleetError, formatError } from '#bundles/errors';
import {
  formatObjects,
  readKubernetesObjects,
} from '../../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { findImages } from '../../../../scheduler/assemble/images/find-images.ts';
import type { ImageFields } from '../../../../scheduler/model/images/image-fields.ts';
import { imageRules } from '../../../../scheduler/assemble/images/image-rules.ts';
import { type JsonPath, parseJsonPath } from '../../../../scheduler/model/json-path.ts';
import { parseDocument } from 'yaml';
import { runs } from '../../../harness/run/long.ts';

const NONE: ImageFields = {
  fields: [],
  env: [],
  args: [],
  annotations: [],
  notImages: { fields: [], env: [], charts: [] },
};
const path = (text: string): JsonPath => parseJsonPath(text) as JsonPath;
const pinned = (image: string): string => `pinned.example/${image.replaceAll(/[^a-z0-9]/g, '-')}@sha256:00`;

/** What is found in a file, and the file with every image pinned. */
const find = (text: string | object, more: Partial<ImageFields> = {}) => {
  const problems: FleetError[] = [];
  const bytes = Buffer.from(typeof text === 'string' ? text : JSON.stringify(text));
  const objects = readKubernetesObjects('app.yaml', bytes, problems);
  const found = objects.map((object) => findImages(object, imageRules([{ ...NONE, ...more }])));
  for (const { images } of found) for (const one of images) one.pin(pinned(one.image));
  return {
    images: found.flatMap(({ images }) => images.map(({ image }) => image)),
    places: found.flatMap(({ images }) => images.map(({ at }) => `${at.line}:${at.column}`)),
    policies: found.flatMap(({ images }) => images.map(({ pullPolicy }) => pullPolicy)),
    problems: [...problems, ...found.flatMap((one) => one.problems)].map(formatError),
    suspects: found.flatMap((one) => one.suspects.map(formatError)),
    after: formatObjects(objects)
      .split(/^---\n/m)
      .map((one) => parseDocument(one).toJS() as unknown),
  };
};

const object = (apiVersion: string, kind: string, more: object) => ({
  apiVersion,
  kind,
  metadata: { name: 'a' },
  ...more,
});
const pod = {
  containers: [{ name: 'c', image: 'c:1' }],
  initContainers: [{ name: 'i', image: 'i:1' }],
  ephemeralContainers: [{ name: 'e', image: 'e:1' }],
  volumes: [
    { name: 'v', image: { reference: 'v:1', pullPolicy: 'Always' } },
    { name: 'o', emptyDir: {} },
  ],
};
const template = { template: { spec: pod } };

describe('images are found', () => {
  test.each([
    ['v1', 'Pod', { spec: pod }],
    ['v1', 'PodTemplate', template],
    ['v1', 'ReplicationController', { spec: template }],
    ['apps/v1', 'Deployment', { spec: template }],
    ['apps/v1', 'StatefulSet', { spec: template }],
    ['apps/v1', 'DaemonSet', { spec: template }],
    ['apps/v1', 'ReplicaSet', { spec: template }],
    ['batch/v1', 'Job', { spec: template }],
    ['batch/v1', 'CronJob', { spec: { jobTemplate: { spec: template } } }],
    ['serving.knative.dev/v1', 'Service', { spec: template }],
    ['argoproj.io/v1alpha1', 'Rollout', { spec: template }],
  ])('in the pod of a %s %s: containers of each list and image volumes', (apiVersion, kind, more) => {
    const found = find(object(apiVersion, kind, more));
    expect(found.images).toEqual(['c:1', 'i:1', 'e:1', 'v:1']);
    expect(found.policies).toEqual([undefined, undefined, undefined, 'Always']);
    expect([found.problems, found.suspects]).toEqual([[], []]);
  });

  test.each([
    [
      'monitoring.coreos.com/v1',
      'Prometheus',
      { image: 'p/p:1', thanos: { image: 't/t:1' } },
      ['p/p:1', 't/t:1'],
    ],
    [
      'argoproj.io/v1alpha1',
      'WorkflowTemplate',
      { templates: [{ container: { image: 'a:1' } }, { script: { image: 'b:1' } }] },
      ['a:1', 'b:1'],
    ],
    [
      'argoproj.io/v1alpha1',
      'CronWorkflow',
      { workflowSpec: { templates: [{ sidecars: [{ image: 's:1' }] }] } },
      ['s:1'],
    ],
    ['tekton.dev/v1', 'Task', { steps: [{ image: 'a:1' }], stepTemplate: { image: 'b:1' } }, ['a:1', 'b:1']],
    ['tekton.dev/v1', 'Pipeline', { tasks: [{ taskSpec: { steps: [{ image: 'a:1' }] } }] }, ['a:1']],
    ['postgresql.cnpg.io/v1', 'Cluster', { imageName: 'pg/pg:16' }, ['pg/pg:16']],
    ['kafka.strimzi.io/v1beta2', 'Kafka', { kafka: { image: 'k/k:4' } }, ['k/k:4']],
    [
      'operators.coreos.com/v1alpha1',
      'ClusterServiceVersion',
      { relatedImages: [{ name: 'x', image: 'x/x:1' }] },
      ['x/x:1'],
    ],
  ])('in known fields of %s %s', (apiVersion, kind, spec, expected) => {
    const found = find(object(apiVersion, kind, { spec }));
    expect(found.images).toEqual(expected);
    expect([found.problems, found.suspects]).toEqual([[], []]);
  });

  test('in the items of a List with their positions; a typed list gives its items their kind', () => {
    const text = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec: {containers: [{name: c, image: "c:1"}]}
  - apiVersion: apps/v1
    kind: DeploymentList
    items:
      - metadata: {name: b}
        spec: {template: {spec: {containers: [{name: d, image: d}]}}}
`;
    const found = find(text);
    expect(found.images).toEqual(['c:1', 'd']);
    expect(found.places).toEqual(['7:42', '12:64']);
    expect(found.after).toMatchObject([
      { apiVersion: 'v1', kind: 'Pod' },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'b' } },
    ]);
  });

  test.each([
    [
      'items:\n  - &a {apiVersion: v1, kind: Pod, metadata: {name: a}}\n  - *a\n',
      'app.yaml:5:5: OBJECT_INVALID: List: an item of this list is not an object',
    ],
    [
      'items:\n  - {apiVersion: v1, kind: Pod, metadata: &m {name: a}}\n  - {apiVersion: v1, kind: Pod, metadata: *m}\n',
      'refers to an anchor outside of it',
    ],
    ['items: []\nsops: {mac: x}\n', 'an encrypted list cannot be taken apart'],
  ])('but not in a List with invalid items, which is refused', (more, expected) => {
    expect(find(`apiVersion: v1\nkind: List\n${more}`).problems.join('\n')).toContain(expected);
  });

  test('but not in an empty list with a name, which may be an object of a kind of its own', () => {
    const text = (more: string) => `apiVersion: example.com/v1\nkind: AllowList\n${more}items: []\n`;
    expect(find(text('metadata: {name: office}\n')).problems).toEqual([
      expect.stringMatching(/^app\.yaml:3:18: OBJECT_INVALID: AllowList: Kubernetes and Kustomize take/),
    ]);
    expect(find(text('metadata: {resourceVersion: ""}\n')).problems).toEqual([]);
  });

  test('through anchors and merge keys, and only the container is changed', () => {
    const text = `apiVersion: example.com/v1
kind: Thing
metadata: {name: a}
shared: &shared {text: x, image: "base:1"}
name: &image "named:1"
spec:
  containers:
    - {<<: *shared, name: a}
    - {name: b, image: *image}
`;
    const found = find(text, {
      notImages: {
        ...NONE.notImages,
        fields: [{ group: 'example.com', kind: 'Thing', paths: [path('$.shared.image')] }],
      },
    });
    expect(found.images).toEqual(['base:1', 'named:1']);
    expect(found.after).toMatchObject([
      {
        shared: { image: 'base:1' },
        name: 'named:1',
        spec: { containers: [{ image: pinned('base:1') }, { image: pinned('named:1') }] },
      },
    ]);
  });

  test('in environment variables by name pattern, and in options and annotations that ImageFields declares', () => {
    const container = {
      name: 'c',
      image: 'c:1',
      env: [
        { name: 'RELATED_IMAGE_DB', value: 'db/db:1' },
        { name: 'KAFKA_IMAGES', value: '3=k/k:3\n4=k/k:4\n' },
        { name: 'RELATED_IMAGE_NONE', value: '' },
        { name: 'RELATED_IMAGE_OTHER', value: 'not An Image' },
        { name: 'HOME', value: 'quay.io/no/image:1' },
        { name: 'RELATED_IMAGE_FROM', valueFrom: {} },
      ],
      args: ['--reloader=r/r:1', '--helper', 'h/h:1', '--level=debug'],
    };
    const metadata = { name: 'a', annotations: { 'example.com/image': 'a/a:1', other: 'b/b:1' } };
    const found = find(
      { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container] } },
      {
        env: ['*_IMAGES'],
        args: ['--reloader', '--helper'],
        annotations: ['example.com/*'],
        notImages: { ...NONE.notImages, env: ['RELATED_IMAGE_OTHER'] },
      },
    );
    expect(found.images.toSorted()).toEqual(['a/a:1', 'c:1', 'db/db:1', 'h/h:1', 'k/k:3', 'k/k:4', 'r/r:1']);
    expect(found.problems).toEqual([]);
    expect(found.after).toMatchObject([
      {
        metadata: { annotations: { 'example.com/image': pinned('a/a:1'), other: 'b/b:1' } },
        spec: {
          containers: [
            {
              env: [
                { value: pinned('db/db:1') },
                { value: `3=${pinned('k/k:3')}\n4=${pinned('k/k:4')}\n` },
                { value: '' },
                { value: 'not An Image' },
                { value: 'quay.io/no/image:1' },
                {},
              ],
              args: [`--reloader=${pinned('r/r:1')}`, '--helper', pinned('h/h:1'), '--level=debug'],
            },
          ],
        },
      },
    ]);
  });

  test('in split fields (registry, repository, tag), which are rewritten so that the composed name has the digest', () => {
    const parts = (digest?: string) => [
      { in: path('$.spec.image'), registry: 'registry', repository: 'repository', tag: 'tag', digest },
    ];
    const fields = (digest?: string) => [
      { group: 'example.com', kind: 'Db', paths: [], parts: parts(digest) },
    ];
    const text =
      'apiVersion: example.com/v1\nkind: Db\nmetadata: {name: a}\nspec: {image: {registry: quay.io, repository: a/b, tag: 1.10}}\n';
    const [one, other] = [find(text, { fields: fields() }), find(text, { fields: fields('digest') })];
    expect(one.images).toEqual(['quay.io/a/b:1.10']);
    const repository = pinned('quay.io/a/b:1.10').split('@')[0]?.split('/').slice(1).join('/');
    expect(one.after).toMatchObject([
      { spec: { image: { registry: 'pinned.example', repository, tag: '1.10@sha256:00' } } },
    ]);
    expect(other.after).toMatchObject([{ spec: { image: { repository, tag: 1.1, digest: 'sha256:00' } } }]);
    expect(one.suspects).toEqual([]);
  });
});

describe('a value that is not an image', () => {
  const thing = (spec: object) => object('example.com/v1', 'Thing', { spec });
  const fields = [{ group: 'example.com', kind: 'Thing', paths: [path('$.spec.image')], parts: [] }];

  test.each([
    [{ image: '{{ .Values.x }}' }, '"{{ .Values.x }}"'],
    [{ image: 7 }, '7'],
    [{ image: ['a:1'] }, 'a list'],
    [{ image: { repository: 'a' } }, 'a mapping'],
  ])('in a declared image field is refused with its position: %j', (spec, expected) => {
    expect(find(thing(spec), { fields }).problems).toEqual([
      expect.stringContaining(
        `app.yaml:1:87: OBJECT_INVALID: Thing a: spec.image should name an image and is ${expected}`,
      ),
    ]);
  });

  test('is ignored when it is empty or declared as not an image', () => {
    const notImages = {
      ...NONE.notImages,
      fields: [{ group: 'example.com', kind: 'Thing', paths: [path('$.spec.image')] }],
    };
    for (const [spec, more] of [
      [{ image: '' }, {}],
      [{ image: null }, {}],
      [{ image: '{{x}}' }, { notImages }],
      [{ image: 'a/b:1' }, { notImages }],
    ] as const) {
      const { images, problems, suspects } = find(thing(spec), { fields, ...more });
      expect([images, problems, suspects]).toEqual([[], [], []]);
    }
  });

  test('in an undeclared field that may be an image is one advice per field, except in known kinds', () => {
    const spec = {
      image: 'quay.io/a/b:1',
      parts: [{ image: { repository: 'x/y', tag: 1 } }, { image: { repository: 'x/z' } }],
      image2: 'a/b:1',
    };
    expect(find(thing(spec)).suspects).toEqual([
      expect.stringMatching(
        /^app\.yaml:1:87: IMAGE_UNKNOWN: Thing a: spec\.image may be the image quay\.io\/a\/b:1.*Name \$\.spec\.image of kind Thing in an ImageFields object/,
      ),
      expect.stringContaining('Name $.spec.parts[*].image of kind Thing'),
    ]);
    expect(find(object('v1', 'ConfigMap', { data: { image: 'quay.io/a/b:1' } })).suspects).toEqual([]);
  });
});

test('every image of a pod template at any depth is pinned, and nothing else changes', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
  const image = fc.tuple(word, word, word).map(([host, name, tag]) => `${host}.example/${name}:${tag}`);
  const container = fc.record(
    {
      name: word,
      image,
      env: fc.array(fc.record({ name: word, value: fc.string({ maxLength: 8 }) }), { maxLength: 2 }),
      args: fc.array(fc.string({ maxLength: 8 }), { maxLength: 2 }),
    },
    { requiredKeys: ['name', 'image'] },
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(fc.string({ maxLength: 8 }), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.dictionary(word, tie('tree'), { maxKeys: 3 }),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.record({
        containers: fc.array(container, { maxLength: 2 }),
        initContainers: fc.array(container, { maxLength: 2 }),
      }),
    ),
  }));
  const pinAll = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(pinAll);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        (key === 'containers' || key === 'initContainers') && Array.isArray(inner)
          ? inner.map((one: { image: string }) => ({ ...one, image: pinned(one.image) }))
          : pinAll(inner),
      ]),
    );
  };
  fc.assert(
    fc.property(tree, (spec) => {
      const whole = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec };
      const found = find(whole);
      expect(found.problems).toEqual([]);
      expect(found.after).toEqual([pinAll(whole)]);
    }),
    { numRuns: runs(100) },
  );
});
