import { expect, it } from 'vitest';
import { lackingRights } from '../../../../scheduler/views/rights/lacking-rights.ts';
import { neededRights } from '../../../../scheduler/views/rights/needed-rights.ts';
import { rightsObjects } from '../../../../scheduler/views/rights/rights-objects.ts';

const AGENT = { namespace: 'fleet-agent', name: 'fleet-agent' };

const objectsOf = (yaml: string, accounts?: string) =>
  rightsObjects(
    neededRights(
      [
        {
          assignment: { id: 'shop', workspace: 'red', namespace: 'shop', bounds: { namespaces: ['shop'] } },
          files: new Map([['manifests/app.yaml', Buffer.from(yaml)]]),
        },
      ],
      accounts !== undefined,
    ),
    { agent: AGENT, accounts },
  );
const object = (apiVersion: string, kind: string, name: string, more = ''): string =>
  `---\napiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}}\n${more}`;
const resources = (yaml: string): readonly string[] =>
  objectsOf(yaml).flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.resources));

it('derives resources as Kubernetes does, and takes the plural of a definition of the release', () => {
  const kinds = ['Ingress', 'NetworkPolicy', 'Endpoints', 'StorageClass', 'ConfigMap'];
  expect(resources(kinds.map((kind) => object('v1', kind, 'x')).join('')).toSorted()).toEqual([
    'configmaps',
    'endpoints',
    'ingresses',
    'networkpolicies',
    'storageclasses',
    'storageclasses',
  ]);
  const definition = object(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'x',
    'spec: {group: a.b, scope: Namespaced, names: {plural: oxen, kind: Ox}}\n',
  );
  expect(resources(definition + object('a.b/v1', 'Ox', 'x'))).toContain('oxen');
});

it('lists items of lists, and objects without a namespace in that of their assignment', () => {
  const [namespace, role] = objectsOf(
    'apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n',
  );
  expect(namespace).toMatchObject({ kind: 'Namespace', metadata: { name: 'shop' } });
  expect(role).toMatchObject({
    kind: 'Role',
    metadata: { namespace: 'shop' },
    rules: [{ resources: ['secrets'] }],
  });
});

it('labels no namespace and no account: kubectl apply --prune would delete a namespace with everything in it', () => {
  const objects = objectsOf(object('v1', 'Secret', 'a'), 'accounts');
  const labelled = objects.filter(({ metadata }) => metadata.labels !== undefined).map(({ kind }) => kind);
  expect(new Set(labelled)).toEqual(new Set(['Role', 'RoleBinding']));
  expect(objects.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Namespace', 'ServiceAccount']));
});

it('limits kinds of the whole cluster to the names of the release', () => {
  const role = objectsOf(object('scheduling.k8s.io/v1', 'PriorityClass', 'high')).find(
    ({ kind }) => kind === 'ClusterRole',
  );
  expect(role?.rules).toContainEqual({
    apiGroups: ['scheduling.k8s.io'],
    resources: ['priorityclasses'],
    verbs: ['get', 'patch', 'delete'],
    resourceNames: ['high'],
  });
});

it('names what a newer release needs beyond given roles, and nothing where they suffice', () => {
  const before = objectsOf(object('v1', 'ConfigMap', 'a'));
  expect(lackingRights(before, before)).toEqual([]);
  const after = objectsOf(object('v1', 'ConfigMap', 'b') + object('v1', 'Secret', 'b'));
  expect(lackingRights(after, before)).toEqual([
    'Role fleet-agent in namespace shop lacks: get, list, watch, create, patch, delete secrets',
  ]);
  const wide = [
    { ...before[1], rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
  ] as typeof before;
  expect(lackingRights(after, wide)).toEqual([]);
});

it('gives the manifests of a workspace to its account, and the agent the right to act as it', () => {
  const objects = objectsOf(object('v1', 'ConfigMap', 'a'), 'fleet-workspaces');
  expect(objects.map(({ kind, metadata: { name, namespace } }) => [kind, namespace, name].join('/'))).toEqual(
    [
      'Namespace//fleet-workspaces',
      'Namespace//shop',
      'ServiceAccount/fleet-workspaces/red',
      'Role/fleet-workspaces/fleet-agent-impersonate',
      'RoleBinding/fleet-workspaces/fleet-agent-impersonate',
      'Role/shop/fleet-agent-workspace-red',
      'RoleBinding/shop/fleet-agent-workspace-red',
    ],
  );
});
