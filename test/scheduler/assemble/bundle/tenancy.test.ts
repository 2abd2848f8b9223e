import { expect, test } from 'vitest';
import { type FleetError, formatError } from '#bundles/errors';
import { prepareManifest } from '../../../../scheduler/assemble/bundle/prepare-manifest.ts';
import { boundsOf, type ObjectBounds, UNBOUNDED } from '../../../../scheduler/assemble/bundle/tenancy.ts';
import { readBounds } from '../../../../scheduler/model/bounds.ts';
import { target } from '../../model-objects.ts';

const OWN = 'dev-edge-shop-web';
const NONE: ObjectBounds = { clusterScoped: [], namespaces: [], secretSets: [] };

const problemsOf = (
  text: string,
  bounds: Partial<ObjectBounds> = NONE,
  cache = new Map(),
): readonly string[] => {
  const problems: FleetError[] = [];
  prepareManifest(
    {
      shown: 'shop/x.yaml',
      content: text,
      namespace: OWN,
      offline: false,
      imageLocks: new Map(),
      bounds: { ...NONE, ...bounds },
    },
    cache,
    problems,
  );
  return problems.map(formatError);
};

const object = (kind: string, metadata: string, more = ''): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: a\n${metadata}${more}`;

test("an application's object is accepted with its own namespace or without one", () => {
  expect(problemsOf(object('ConfigMap', ''))).toEqual([]);
  expect(problemsOf(object('ConfigMap', `  namespace: ${OWN}\n`))).toEqual([]);
});

test('another namespace is refused with file, line and object', () => {
  expect(problemsOf(object('ConfigMap', '  namespace: kube-system\n'))).toEqual([
    `shop/x.yaml:5:14: NAMESPACE_FOREIGN: ConfigMap a: the namespace kube-system is not its own, which is ${OWN}. Leave metadata.namespace out, or have it allowed: fleet-ferry/allow-namespaces: kube-system on the WorkloadRegistration.`,
  ]);
  expect(problemsOf(object('ConfigMap', `  namespace: ${OWN}-2\n`))[0]).toContain('NAMESPACE_FOREIGN');
});

test.each([
  'ClusterRole',
  'CustomResourceDefinition',
  'Namespace',
  'PersistentVolume',
  'CertificateSigningRequest',
])('a cluster-wide %s is refused, with the annotation that would allow it', (kind) => {
  expect(problemsOf(object(kind, ''))).toEqual([
    expect.stringMatching(
      new RegExp(`^shop/x.yaml:1:1: CLUSTER_SCOPED: ${kind} a: .*allow-cluster-scoped: ${kind}`),
    ),
  ]);
});

test('the items of a List are checked like other objects, with and without a list name', () => {
  const items = `items:\n  - ${JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } })}\n`;
  const refused = expect.stringMatching(/^shop\/x.yaml:\d+:5: CLUSTER_SCOPED: Namespace x: /);
  expect(problemsOf(`apiVersion: v1\nkind: List\n${items}`)).toEqual([refused]);
  expect(problemsOf(object('List', '', items))).toEqual([refused]);
  expect(problemsOf(object('AllowList', '', 'spec: {items: []}\n'))).toEqual([]);
});

const controlled = (apiVersion: string, kind: string, spec: object): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nspec: ${JSON.stringify(spec)}\n`;

const HELM_RELEASE = (spec: object): string => controlled('helm.toolkit.fluxcd.io/v2', 'HelmRelease', spec);

test.each<readonly [field: string, of: (namespace: string) => string]>([
  ['spec.targetNamespace', (targetNamespace) => HELM_RELEASE({ targetNamespace })],
  ['spec.storageNamespace', (storageNamespace) => HELM_RELEASE({ storageNamespace })],
  [
    'spec.targetNamespace',
    (targetNamespace) => controlled('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', { targetNamespace }),
  ],
  [
    'spec.destination.namespace',
    (namespace) => controlled('argoproj.io/v1alpha1', 'Application', { destination: { namespace } }),
  ],
  [
    'spec.template.spec.destination.namespace',
    (namespace) =>
      controlled('argoproj.io/v1alpha1', 'ApplicationSet', {
        template: { spec: { destination: { namespace } } },
      }),
  ],
  [
    'spec.generators.0.list.template.spec.destination.namespace',
    (namespace) =>
      controlled('argoproj.io/v1alpha1', 'ApplicationSet', {
        generators: [{ list: { elements: [], template: { spec: { destination: { namespace } } } } }],
        template: { spec: { destination: { namespace: OWN } } },
      }),
  ],
  [
    'spec.targetNamespace',
    (targetNamespace) => controlled('helm.cattle.io/v1', 'HelmChart', { targetNamespace }),
  ],
  [
    'spec.defaultNamespace',
    (defaultNamespace) => controlled('fleet.cattle.io/v1alpha1', 'HelmApp', { defaultNamespace }),
  ],
  [
    'spec.targets.0.namespace',
    (namespace) => controlled('fleet.cattle.io/v1alpha1', 'Bundle', { targets: [{ namespace }] }),
  ],
])('N85: an object whose controller writes into the namespace in %s -> NAMESPACE_FOREIGN', (field, of) => {
  const [, kind] = /kind: (\w+)/.exec(of('')) ?? [];
  expect(problemsOf(of('kube-system'))).toEqual([
    expect.stringMatching(
      new RegExp(
        `^shop/x.yaml:4:\\d+: NAMESPACE_FOREIGN: ${kind} a: its controller would write into the namespace kube-system, which is not its own, ${OWN}\\. Write ${OWN} as ${field}, or have it allowed: fleet-ferry/allow-namespaces: kube-system`,
      ),
    ),
  ]);
  expect(problemsOf(of(`${OWN}-2`))).toHaveLength(1);
  expect(problemsOf(of('{{ .place }}'))).toHaveLength(1);
  expect(problemsOf(of(OWN))).toEqual([]);
  expect(problemsOf(of(''))).toEqual([]);
  expect(problemsOf(of('shop'), { namespaces: ['shop'] })).toEqual([]);
  expect(problemsOf(of('shop'), UNBOUNDED)).toEqual([]);
});

test('a field of another kind that is called like that of a controller is not bound', () => {
  expect(problemsOf(controlled('shop.example/v1', 'HelmRelease', { targetNamespace: 'shop' }))).toEqual([]);
  expect(
    problemsOf(
      controlled('helm.toolkit.fluxcd.io/v2', 'HelmRelease', { values: { targetNamespace: 'shop' } }),
    ),
  ).toEqual([]);
});

test('a RoleBinding in the own namespace may name service accounts of other namespaces', () => {
  const subjects = 'subjects:\n  - {kind: ServiceAccount, name: scraper, namespace: monitoring}\n';
  expect(problemsOf(object('RoleBinding', '', subjects))).toEqual([]);
});

test('an object is accepted exactly when its registration allows it, independent of cached results', () => {
  const cache = new Map();
  const role = object('ClusterRole', '');
  const foreign = object('ConfigMap', '  namespace: monitoring\n');
  expect(problemsOf(role, { clusterScoped: ['ClusterRole'], namespaces: [] }, cache)).toEqual([]);
  expect(problemsOf(role, NONE, cache)).toHaveLength(1);
  expect(problemsOf(role, { clusterScoped: ['PriorityClass'], namespaces: [] }, cache)).toHaveLength(1);
  expect(problemsOf(foreign, { clusterScoped: [], namespaces: ['monitoring'] }, cache)).toEqual([]);
  expect(problemsOf(foreign, { clusterScoped: ['*'], namespaces: [] }, cache)).toHaveLength(1);
  expect(problemsOf(`${role}---\n${foreign}`, UNBOUNDED, cache)).toEqual([]);
});

test('a registered application has bounds; a Workload of the platform itself has none', () => {
  expect(boundsOf(target('shop/web'))).toEqual(UNBOUNDED);
  expect(boundsOf(target('shop/web', { registration: 'shop' }))).toEqual({
    ...NONE,
    secretSets: ['shop', 'team'],
  });
  const bounds = { clusterScoped: ['ClusterRole'], namespaces: [] };
  expect(boundsOf(target('shop/web', { registration: 'shop', bounds }))).toMatchObject(bounds);
});

test('the annotations list kinds and namespaces separated by commas or spaces', () => {
  expect(readBounds({})).toBeUndefined();
  expect(
    readBounds({
      'fleet-ferry/allow-cluster-scoped': 'ClusterRole, ClusterRoleBinding',
      'fleet-ferry/allow-namespaces': 'kube-system monitoring',
    }),
  ).toEqual({
    clusterScoped: ['ClusterRole', 'ClusterRoleBinding'],
    namespaces: ['kube-system', 'monitoring'],
  });
});
