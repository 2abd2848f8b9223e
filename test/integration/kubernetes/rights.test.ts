import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import type { Target } from '../../../agent/model/target.ts';
import { observe } from '../../../agent/observe/observe.ts';
import { neededRights } from '../../../scheduler/views/rights/needed-rights.ts';
import { rightsObjects } from '../../../scheduler/views/rights/rights-objects.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesPackage,
} from '../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { accountToken, tokenKubeconfig } from './account-token.ts';

const AGENT = { namespace: 'fleet-agent', name: 'fleet-agent' };
const ACCOUNTS = 'fleet-workspaces';

const metadata = (name: string, namespace: string): string =>
  `metadata: {name: ${name}, namespace: ${namespace}}`;
const rbac = 'apiVersion: rbac.authorization.k8s.io/v1';

/** One of each kind that needs rights of its own: a definition and an object of it, a role, a binding, a workload, a claim. */
const PLATFORM = `apiVersion: v1
kind: Namespace
metadata: {name: base, labels: {team: platform}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: meters.meters.example}
spec:
  group: meters.example
  scope: Namespaced
  names: {plural: meters, singular: meter, kind: Meter}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: meters.example/v1
kind: Meter
metadata: {name: one, namespace: base, annotations: {fleet-ferry/wait: disabled}}
---
${rbac}
kind: ClusterRole
metadata: {name: meter-reader}
rules: [{apiGroups: [meters.example], resources: [meters], verbs: [get]}]
---
${rbac}
kind: ClusterRoleBinding
metadata: {name: meter-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: meter-reader}
subjects: [{kind: Group, name: meters}]
---
${rbac}
kind: Role
${metadata('writer', 'base')}
rules: [{apiGroups: [''], resources: [secrets], verbs: ['*']}]
---
${rbac}
kind: RoleBinding
${metadata('writer', 'base')}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer}
subjects: [{kind: Group, name: writers}]
---
apiVersion: apps/v1
kind: Deployment
${metadata('web', 'base')}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
---
apiVersion: v1
kind: Secret
${metadata('key', 'base')}
stringData: {a: b}
`;
const CONFIG = `---\napiVersion: v1\nkind: ConfigMap\n${metadata('extra', 'base')}\n`;
const POLICIES = `---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n${metadata('none', 'base')}\nspec: {podSelector: {}}\n`;

const platform = (yaml: string): KubernetesPackage => ({ id: 'base', files: { 'app.yaml': yaml } });
const tenant: KubernetesPackage = {
  id: 'red-app',
  files: {
    'namespace.yaml': `apiVersion: v1\nkind: ResourceQuota\n${metadata('assignment', 'red')}\nspec: {hard: {pods: "5"}}\n`,
    'manifests/app.yaml': `apiVersion: v1\nkind: ConfigMap\n${metadata('app', 'red')}\ndata: {a: "1"}\n`,
  },
  tenant: { workspace: 'red', namespace: 'red', bounds: { namespaces: ['red'] } },
};

const rightsOf = (packages: readonly KubernetesPackage[], accounts?: string) =>
  rightsObjects(
    neededRights(
      packages.map(({ id, files, tenant: its }) => ({
        assignment: { id, ...its },
        files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
      })),
      accounts !== undefined,
    ),
    { agent: AGENT, accounts },
  );

describeOnKubernetes(['kwok'], 'rights of the agent', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;
  let folder: TemporaryDirectory;
  let kubeconfig: string;

  const target = (accounts?: string): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
          patienceMs: 10_000,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      healthTimeoutMs: 60_000,
      stepTimeoutMs: 60_000,
      adopt: 'ifUnowned',
      copies: copiesIn(folder.path),
      accounts,
    });
  const apply = async (objects: readonly object[]): Promise<void> => {
    const input = objects.map((one) => JSON.stringify(one)).join('\n---\n');
    const kinds = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
    const prune = [
      '--prune',
      '--selector=app.kubernetes.io/part-of=fleet-ferry-rights',
      ...kinds.map((kind) => `--prune-allowlist=rbac.authorization.k8s.io/v1/${kind}`),
    ];
    for (const more of [[], prune]) {
      const { code, stderr } = await cluster.kubectl(['apply', ...more, '-f', '-'], { input });
      expect(code, stderr).toBe(0);
    }
  };
  /** What the server has refused to the agent, as 'verb resource namespace'. */
  const denied = async (): Promise<readonly string[]> =>
    (await cluster.readAudit())
      .filter(({ userAgent, responseStatus }) => userAgent === 'fleet-agent' && responseStatus?.code === 403)
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.namespace ?? ''}`);

  beforeAll(async () => {
    folder = await temporaryDirectory('rights');
    cluster = await startOwnCluster({ kube, kwok, nodes: 1, audit: true });
    await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: AGENT.namespace } });
    await cluster.request('POST', `/api/v1/namespaces/${AGENT.namespace}/serviceaccounts`, {
      metadata: { name: AGENT.name },
    });
    kubeconfig = await tokenKubeconfig(
      cluster,
      await accountToken(cluster, AGENT.namespace, AGENT.name),
      folder.path,
    );
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('suffice to install, compare, correct, update and remove, and a new need is named before the first write', async () => {
    await using site = await createSite(target());
    await apply(rightsOf([platform(PLATFORM + CONFIG)]));
    expect(await site.release([platform(PLATFORM + CONFIG)])).toMatchObject([{ outcome: 'created' }]);
    await cluster.request('PATCH', '/apis/apps/v1/namespaces/base/deployments/web', {
      spec: { revisionHistoryLimit: 3, minReadySeconds: 1 },
    });
    await cluster.request('DELETE', '/api/v1/namespaces/base/secrets/key');
    await observe({ ...site.agent, policy: { ...site.agent.policy, onDrift: 'correct' } });
    expect((await cluster.request('GET', '/api/v1/namespaces/base/secrets/key')).status).toBe(200);
    // One object leaves: pruned with the same rights.
    expect(await site.release([platform(PLATFORM)])).toMatchObject([{ outcome: 'configured' }]);
    expect((await cluster.request('GET', '/api/v1/namespaces/base/configmaps/extra')).status).toBe(404);
    expect(await denied()).toEqual([]);

    const before = await cluster.request('GET', '/api/v1/namespaces/base/secrets/key');
    const [result] = await site.release([platform(PLATFORM.replace('a: b', 'a: c') + POLICIES)]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'API_DENIED' });
    expect(result?.message).toContain('networkpolicies.networking.k8s.io in namespace base');
    expect((await cluster.request('GET', '/api/v1/namespaces/base/secrets/key')).body).toEqual(before.body);

    const gone = site.release([]);
    await gone;
    for (const path of [
      '/apis/apps/v1/namespaces/base/deployments/web',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/meter-reader',
    ])
      expect((await cluster.request('GET', path)).status, path).toBe(404);
  });

  it('of a tenant are those of its account, and the agent has none in its namespace but for the templates', async () => {
    await using site = await createSite(target(ACCOUNTS));
    const objects = rightsOf([tenant], ACCOUNTS);
    await apply(objects);
    expect(await site.release([tenant])).toMatchObject([{ outcome: 'created' }]);
    const own = objects.find(
      ({ kind, metadata: { name, namespace } }) =>
        kind === 'Role' && name === 'fleet-agent' && namespace === 'red',
    );
    expect(own?.rules?.flatMap(({ resources }) => resources)).toEqual(['resourcequotas']);
    await site.release([]);
    expect((await cluster.request('GET', '/api/v1/namespaces/red/configmaps/app')).status).toBe(404);
  });
});
