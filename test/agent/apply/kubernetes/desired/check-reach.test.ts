import { describe, expect, it } from 'vitest';
import type { PackageBounds } from '../../../../../bundles/formats/bundle/config.ts';
import { checkReach, type Reach } from '../../../../../agent/apply/kubernetes/desired/check-reach.ts';
import { readManifests, toWanted } from '../../../../../agent/apply/kubernetes/desired/read-wanted.ts';
import type { DesiredPackage } from '../../../../../agent/model/target.ts';
import { refusal } from '../../../../bundles/refusal.ts';
import { intrusionsInto } from '../intrusions.ts';

const REACH: Reach = { reserved: new Set(['fleet-agent', 'fleet-workspaces']), systemNamespaces: [] };
const CLUSTER_KINDS = [
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'GlobalThing',
  'Namespace',
  'PriorityClass',
  'ValidatingWebhookConfiguration',
];

type Given = Partial<Pick<DesiredPackage, 'bounds' | 'tenant'>> & { readonly file?: string };

const check = (
  objects: readonly object[],
  { file = 'manifests/app.yaml', ...given }: Given,
  reach = REACH,
): void => {
  const text = objects.map((object) => `---\n${JSON.stringify(object)}\n`).join('');
  const desired = {
    assignment: 'red-app',
    package: 'sha256:0',
    siteValues: 'sha256:0',
    files: new Map([[file, Buffer.from(text)]]),
    siteInputs: [],
    ...given,
  } as unknown as DesiredPackage;
  const scope = ({ kind }: { readonly kind: string }) =>
    CLUSTER_KINDS.includes(kind) ? 'Cluster' : 'Namespaced';
  checkReach(
    reach,
    desired,
    toWanted(readManifests(desired), scope, { fleet: 'halden', assignment: 'red-app' }),
  );
};

const tenant = (name: string, other: string, more: PackageBounds = {}): Given => ({
  bounds: { namespaces: [`prod-${name}`], ...more },
  tenant: { workspace: name, foreign: new Set([`prod-${other}`]) },
});
const ofRed = tenant('red', 'blue');
const PLATFORM: Given = { bounds: 'platform' };

const object = (
  kind: string,
  namespace: string | undefined,
  name = 'x',
  more: object = {},
  apiVersion = 'v1',
) => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  ...more,
});
const rbac = (kind: string, namespace: string | undefined, name: string, more: object = {}) =>
  object(kind, namespace, name, more, 'rbac.authorization.k8s.io/v1');
const binds = (...subjects: readonly object[]): object => ({
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects,
});

describe('bounds of a package on a cluster', () => {
  it.each([
    ['red', 'blue'],
    ['blue', 'red'],
  ])('N80: every kind of %s in the namespace of %s, in every form: 100 tries', (one, other) => {
    const tries = intrusionsInto(`prod-${other}`);
    expect(tries).toHaveLength(100);
    for (const each of tries)
      expect(
        refusal(() => check([each], tenant(one, other))),
        JSON.stringify(each),
      ).toBe('OUT_OF_BOUNDS');
  });

  it.each([
    ["a Namespace that is the other tenant's", object('Namespace', undefined, 'prod-blue')],
    ['its own Namespace, whose labels the platform chose', object('Namespace', undefined, 'prod-red')],
    ['a ClusterRole', rbac('ClusterRole', undefined, 'red')],
    ['a ClusterRoleBinding', rbac('ClusterRoleBinding', undefined, 'red', binds())],
    ['a webhook for all objects', object('ValidatingWebhookConfiguration', undefined, 'red')],
    ['a custom resource that only the cluster knows to be cluster-scoped', object('GlobalThing', 'prod-red')],
    ['a namespace of nobody', object('ConfigMap', 'elsewhere')],
  ])('N81: a tenant brings %s', (_, one) => {
    expect(refusal(() => check([one], ofRed))).toBe('OUT_OF_BOUNDS');
  });

  it.each([
    ['HelmRelease', 'helm.toolkit.fluxcd.io/v2', { targetNamespace: 'prod-blue' }],
    ['HelmRelease', 'helm.toolkit.fluxcd.io/v2', { storageNamespace: 'prod-blue' }],
    ['Kustomization', 'kustomize.toolkit.fluxcd.io/v1', { targetNamespace: 'prod-blue' }],
    ['Application', 'argoproj.io/v1alpha1', { destination: { namespace: 'prod-blue' } }],
    ['HelmChart', 'helm.cattle.io/v1', { targetNamespace: 'prod-blue' }],
    ['HelmOp', 'fleet.cattle.io/v1alpha1', { namespace: 'prod-blue' }],
    ['HelmApp', 'fleet.cattle.io/v1alpha1', { namespace: 'prod-blue' }],
  ])(
    'N85: at the agent: a %s (%s) of a tenant whose controller writes elsewhere',
    (kind, apiVersion, spec) => {
      const one = object(kind, 'prod-red', 'x', { spec }, apiVersion);
      expect(refusal(() => check([one], ofRed))).toBe('OUT_OF_BOUNDS');
      expect(
        refusal(() => check([one], tenant('red', 'blue', { namespaces: ['prod-red', 'prod-blue'] }))),
      ).toBe(undefined);
      expect(refusal(() => check([one], PLATFORM))).toBeUndefined();
    },
  );

  it('N81: a tenant that may bring cluster roles and namespaces changes those of the system, of the agent or of others', () => {
    const granted = tenant('red', 'blue', { clusterScoped: ['*'] });
    const bad = [
      rbac('ClusterRole', undefined, 'cluster-admin'),
      rbac('ClusterRole', undefined, 'system:node'),
      rbac('ClusterRole', undefined, 'fleet-agent'),
      rbac('ClusterRoleBinding', undefined, 'fleet-agent', binds()),
      {
        ...rbac('ClusterRole', undefined, 'red'),
        metadata: { name: 'red', labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
      },
      object('Namespace', undefined, 'prod-blue'),
      object('Namespace', undefined, 'kube-system'),
    ];
    for (const one of bad)
      expect(
        refusal(() => check([one], granted)),
        JSON.stringify(one),
      ).toBe('OUT_OF_BOUNDS');
    expect(refusal(() => check([rbac('ClusterRole', undefined, 'red')], granted))).toBeUndefined();
  });

  it.each<[string, Given]>([
    ['the platform', PLATFORM],
    ['a tenant that may do everything', tenant('red', 'blue', { namespaces: ['*'], clusterScoped: ['*'] })],
    [
      'a tenant of a bundle without such bounds',
      { bounds: 'unsaid', tenant: { workspace: 'red', foreign: new Set<string>() } },
    ],
    ["a template of the platform in a tenant's package", { ...ofRed, file: 'namespace.yaml' }],
  ])('N82: a package of %s reaches the agent or the system', (_, given) => {
    const bad = [
      object('ConfigMap', 'fleet-agent', 'fleet-agent'),
      object('Secret', 'fleet-workspaces'),
      object('Namespace', undefined, 'fleet-agent'),
      object('Namespace', undefined, 'fleet-workspaces'),
      rbac('ClusterRoleBinding', undefined, 'fleet-agent', binds()),
      rbac('ClusterRole', undefined, 'fleet-agent-workspaces'),
      object('CustomResourceDefinition', undefined, 'fleetagents.fleet-ferry.internal'),
      rbac(
        'ClusterRoleBinding',
        undefined,
        'mine',
        binds({ kind: 'ServiceAccount', name: 'fleet-agent', namespace: 'fleet-agent' }),
      ),
      rbac(
        'RoleBinding',
        'prod-red',
        'mine',
        binds({ kind: 'ServiceAccount', name: 'blue', namespace: 'fleet-workspaces' }),
      ),
      rbac(
        'ClusterRoleBinding',
        undefined,
        'mine',
        binds({ kind: 'User', name: 'system:serviceaccount:fleet-agent:fleet-agent' }),
      ),
      rbac(
        'ClusterRoleBinding',
        undefined,
        'mine',
        binds({ kind: 'Group', name: 'system:serviceaccounts:fleet-workspaces' }),
      ),
      object('Namespace', undefined, 'kube-system', {}),
      object('ConfigMap', 'kube-system'),
      rbac('RoleBinding', 'kube-public', 'x', binds()),
    ];
    for (const one of bad)
      expect(
        refusal(() => check([one], given)),
        JSON.stringify(one),
      ).toBe('OUT_OF_BOUNDS');
  });

  it('N82: a template of the platform, or a bundle without bounds, reaches the namespace of another workspace', () => {
    const unsaid: Given = { bounds: 'unsaid', tenant: { workspace: 'red', foreign: new Set(['prod-blue']) } };
    for (const given of [{ ...ofRed, file: 'namespace.yaml' }, unsaid])
      expect(refusal(() => check([object('ConfigMap', 'prod-blue')], given))).toBe('OUT_OF_BOUNDS');
  });

  it('accepts what a tenant may have, and what the platform may', () => {
    const granted = tenant('red', 'blue', {
      namespaces: ['monitoring', 'prod-red'],
      clusterScoped: ['PriorityClass'],
    });
    const good = [
      object('ConfigMap', 'prod-red'),
      object('ConfigMap', 'monitoring'),
      object('PriorityClass', undefined, 'red'),
      rbac(
        'RoleBinding',
        'prod-red',
        'x',
        binds({ kind: 'ServiceAccount', name: 'blue', namespace: 'prod-blue' }),
      ),
    ];
    expect(refusal(() => check(good, granted))).toBeUndefined();
    const platforms = [object('ConfigMap', 'prod-blue'), rbac('ClusterRoleBinding', undefined, 'x', binds())];
    expect(refusal(() => check(platforms, PLATFORM))).toBeUndefined();
    const quota = [object('Namespace', undefined, 'prod-red'), object('ResourceQuota', 'prod-red')];
    expect(refusal(() => check(quota, { ...ofRed, file: 'namespace.yaml' }))).toBeUndefined();
  });

  it('lets packages into a namespace of the system that the site names, and a tenant only if its bounds name it, too', () => {
    const reach = { ...REACH, systemNamespaces: ['kube-system'] };
    const one = object('ConfigMap', 'kube-system');
    expect(refusal(() => check([one], PLATFORM, reach))).toBeUndefined();
    expect(refusal(() => check([one], ofRed, reach))).toBe('OUT_OF_BOUNDS');
    const granted = tenant('red', 'blue', { namespaces: ['kube-system', 'prod-red'] });
    expect(refusal(() => check([one], granted, reach))).toBeUndefined();
  });
});
