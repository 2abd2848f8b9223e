import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubernetesApi } from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import type { Target } from '../../../agent/model/target.ts';
import { observe } from '../../../agent/observe/observe.ts';
import { makeAllDue } from '../../../agent/store/applied/attempts.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesPackage,
} from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { intrusionsInto } from '../../agent/apply/kubernetes/intrusions.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { isTried } from '../../harness/run/long.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { accountToken, tokenKubeconfig } from './account-token.ts';

const ACCOUNTS = 'fleet-workspaces';
const TENANTS = ['red', 'blue'] as const;

const configMap = (name: string, namespace: string, data = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${namespace}}\ndata: ${data}\n---\n`;
const quota = (namespace: string): string =>
  `apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: assignment, namespace: ${namespace}}\nspec: {hard: {pods: "5"}}\n---\n`;

/** The rights of the accounts as a platform team would give them: each workspace in its own namespace, the agent the quotas. */
const ROLES = [
  ...['fleet-agent', ACCOUNTS, ...TENANTS].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  })),
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'fleet-agent', namespace: 'fleet-agent' } },
  ...TENANTS.flatMap((name) => [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: ACCOUNTS } },
    ...grant(name, 'tenant', [{ apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['*'] }], {
      name,
      namespace: ACCOUNTS,
    }),
    ...grant(name, 'agent', [{ apiGroups: [''], resources: ['resourcequotas'], verbs: ['*'] }], AGENT()),
  ]),
  ...grant(
    ACCOUNTS,
    'agent',
    [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'], resourceNames: TENANTS }],
    AGENT(),
  ),
];

function AGENT() {
  return { name: 'fleet-agent', namespace: 'fleet-agent' };
}

function grant(
  namespace: string,
  name: string,
  rules: readonly object[],
  account: object,
): readonly object[] {
  const metadata = { name, namespace };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  return [
    { apiVersion, kind: 'Role', metadata, rules },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
}

/** A package as the scheduler builds it: the quota from a template, the manifests from the tenant. */
const packageOf = (
  workspace: string,
  manifests: string,
  namespaces: readonly string[] = [workspace],
): KubernetesPackage => ({
  id: workspace,
  files: { 'namespace.yaml': quota(workspace), 'manifests/app.yaml': manifests },
  tenant: {
    workspace,
    namespace: workspace,
    bounds: { namespaces, clusterScoped: namespaces.includes('*') ? ['*'] : [] },
  },
});

describeOnKubernetes(['kwok'], 'tenants of one cluster', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;
  let folder: TemporaryDirectory;
  let target: Target;
  let open: () => Promise<KubernetesApi>;

  const get = async (path: string) => (await cluster.request('GET', path)).status;

  beforeAll(async () => {
    folder = await temporaryDirectory('tenants');
    cluster = await startOwnCluster({ kube, kwok, nodes: 1, audit: true });
    const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], {
      input: ROLES.map((one) => JSON.stringify(one)).join('\n---\n'),
    });
    expect(code, stderr).toBe(0);
    const kubeconfig = await tokenKubeconfig(
      cluster,
      await accountToken(cluster, 'fleet-agent', 'fleet-agent'),
      folder.path,
    );
    open = async () =>
      openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
        patienceMs: 10_000,
        requestMs: 10_000,
      });
    target = kubernetesTarget({
      open,
      fleet: FLEET,
      healthTimeoutMs: 20_000,
      stepTimeoutMs: 20_000,
      adopt: 'ifUnowned',
      copies: copiesIn(folder.path),
      reach: { reserved: new Set(['fleet-agent', ACCOUNTS]), systemNamespaces: [] },
      accounts: ACCOUNTS,
    });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('are applied, corrected and removed by their own accounts, and what templates brought by the agent', async () => {
    await using site = await createSite(target);
    const first = await site.release(
      TENANTS.map((name) => packageOf(name, configMap('app', name, '{a: "1"}'))),
    );
    expect(first).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }]);
    await cluster.request('PATCH', '/api/v1/namespaces/red/configmaps/app', { data: { a: 'edited' } });
    await observe({ ...site.agent, policy: { ...site.agent.policy, onDrift: 'correct' } });
    const second = await site.release(TENANTS.map((name) => packageOf(name, configMap('other', name))));
    expect(second).toMatchObject([{ outcome: 'configured' }, { outcome: 'configured' }]);
    expect(await get('/api/v1/namespaces/red/configmaps/app')).toBe(404);
    expect(await get('/api/v1/namespaces/red/configmaps/other')).toBe(200);
    await site.release([]);
    expect(await get('/api/v1/namespaces/red/configmaps/other')).toBe(404);
    expect(await get('/api/v1/namespaces/red/resourcequotas/assignment')).toBe(404);
    const events = (await cluster.readAudit()).filter(
      ({ userAgent, objectRef }) => userAgent === 'fleet-agent' && objectRef?.namespace === 'red',
    );
    const by = new Set(
      events.map(
        ({ objectRef, impersonatedUser }) =>
          `${objectRef?.resource} ${impersonatedUser?.username ?? 'agent'}`,
      ),
    );
    expect([...by].filter((one) => /^(configmaps|resourcequotas)/.test(one)).toSorted()).toEqual([
      `configmaps system:serviceaccount:${ACCOUNTS}:red`,
      'resourcequotas agent',
    ]);
    expect(events.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
  });

  it.each([
    ['red', 'blue'],
    ['blue', 'red'],
  ])(
    'N83: bounds that allow %s everything do not let it reach %s or the agent -> API_DENIED',
    async (one, other) => {
      await using site = await createSite(target);
      const tries = [
        configMap('x', other),
        configMap('x', 'default'),
        `apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: ${other}}\n`,
        `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${other}, labels: {pod-security.kubernetes.io/enforce: privileged}}\n`,
        `apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: assignment, namespace: ${one}}\nspec: {hard: {pods: "500"}}\n`,
        `apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x, namespace: ${one}}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}\nsubjects: []\n`,
        `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ${one}}\nrules: []\n`,
      ];
      for (const manifest of tries) {
        makeAllDue(site.agent.state, site.agent.edge.now());
        const its = { ...packageOf(one, manifest, ['*']), files: { 'manifests/app.yaml': manifest } };
        const [result] = await site.release([its]);
        expect(result, manifest).toMatchObject({ outcome: 'failed', code: 'API_DENIED' });
        // The server's words on a Secret are left out.
        if (!manifest.includes('kind: Secret'))
          expect(result?.message).toContain(`system:serviceaccount:${ACCOUNTS}:${one}`);
      }
      expect(await get(`/api/v1/namespaces/${other}/configmaps/x`)).toBe(404);
    },
  );

  it.each(
    [TENANTS, TENANTS.toReversed()].flatMap(([one = '', other = '']) => [
      { row: 'N80', one, other, bounds: [one], code: 'OUT_OF_BOUNDS' },
      { row: 'N83', one, other, bounds: ['*'], code: 'API_DENIED' },
    ]),
  )(
    '$row: nothing of 100 tries of $one is in the namespace of $other with the bounds $bounds -> $code',
    async ({ one, other, bounds, code }) => {
      const kinds =
        'all,configmaps,secrets,serviceaccounts,resourcequotas,limitranges,roles,rolebindings,leases,ingresses,networkpolicies,pvc,pdb,endpoints';
      const found = async (): Promise<string> =>
        (await cluster.kubectl(['get', kinds, '--namespace', other, '--output=name'])).stdout;
      const before = await found();
      const tries = [...intrusionsInto(other).entries()].filter(([index]) => isTried(index, 9));
      const idOf = (index: number): string => `${one}-${index}`;
      await using site = await createSite(target);
      const results = await site.release(
        tries.map(([index, object]) => ({
          ...packageOf(one, '', bounds),
          id: idOf(index),
          files: { 'manifests/app.yaml': JSON.stringify(object) },
        })),
      );
      for (const [index, object] of tries) {
        const result = results.find(({ assignment }) => assignment === idOf(index));
        // The cluster has no such kind.
        const expected = JSON.stringify(object).includes('Widget') ? 'CLUSTER_LACKS' : code;
        expect(result?.code, JSON.stringify(object)).toBe(expected);
      }
      expect(await found()).toBe(before);
      const wrote = (await cluster.readAudit()).filter(
        ({ userAgent, verb, objectRef, responseStatus }) =>
          userAgent === 'fleet-agent' &&
          objectRef?.namespace === other &&
          objectRef.name === 'x' &&
          verb !== 'get' &&
          (responseStatus?.code ?? 0) < 400,
      );
      expect(wrote).toEqual([]);
    },
    180_000,
  );

  it('N80: the agent refuses one tenant in the namespace of the other, and applies the others -> OUT_OF_BOUNDS', async () => {
    await using site = await createSite(target);
    const results = await site.release([
      packageOf('red', configMap('x', 'blue')),
      packageOf('blue', configMap('app', 'blue')),
    ]);
    expect(results).toMatchObject([
      { assignment: 'blue', outcome: 'created' },
      { assignment: 'red', outcome: 'failed', code: 'OUT_OF_BOUNDS' },
    ]);
    expect(results[1]?.message).toContain('ConfigMap blue/x is in the namespace blue, which is not its own');
    // The bounds of the next release may be wider; this one is not.
    expect(await reconcile(site.agent)).toMatchObject([{ assignment: 'red', code: 'OUT_OF_BOUNDS' }]);
    await cluster.request('DELETE', '/api/v1/namespaces/blue/configmaps/app');
  });

  it('N81: a definition that is not applied says of a kind of the cluster that it has namespaces -> OUT_OF_BOUNDS', async () => {
    await using site = await createSite(target);
    const group = 'rbac.authorization.k8s.io';
    const manifests = [
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `clusterrolebindings.${group}`, annotations: { 'fleet-ferry/apply': 'ignore' } },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
          versions: [{ name: 'v1', served: true, storage: true }],
        },
      },
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'mine', namespace: 'red' },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'red' }],
      },
    ] as const;
    const [result] = await site.release([
      packageOf('red', manifests.map((one) => JSON.stringify(one)).join('\n---\n')),
    ]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'OUT_OF_BOUNDS' });
    expect(result?.message).toContain('ClusterRoleBinding mine is for the whole cluster');
    expect(await get(`/apis/${group}/v1/clusterrolebindings/mine`)).toBe(404);
    // Whatever a plan took it for, no request leaves the namespace.
    const api = await open();
    const trial = api.apply(manifests[1], { dryRun: true, force: true }, new AbortController().signal);
    await expect(trial).rejects.toMatchObject({ code: 'CLUSTER_LACKS' });
    await api.close();
  });

  it('leaves removals waiting when the account has lost its rights, and applies other packages', async () => {
    await using site = await createSite(target);
    await site.release(TENANTS.map((name) => packageOf(name, configMap('app', name))));
    const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/red/rolebindings';
    const { body } = await cluster.request('GET', `${bindings}/tenant`);
    await cluster.request('DELETE', `${bindings}/tenant`);
    const results = await site.release([packageOf('blue', configMap('other', 'blue'))]);
    expect(results.find(({ assignment }) => assignment === 'blue')).toMatchObject({ outcome: 'configured' });
    expect(results.find(({ assignment }) => assignment === 'red')).toMatchObject({
      outcome: 'failed',
      code: 'API_DENIED',
    });
    const { roleRef, subjects } = body as { readonly roleRef: object; readonly subjects: object };
    await cluster.request('POST', bindings, { metadata: { name: 'tenant' }, roleRef, subjects });
    makeAllDue(site.agent.state, site.agent.edge.now());
    await site.release([]);
    expect(await get('/api/v1/namespaces/red/configmaps/app')).toBe(404);
  });
});
