import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { neededRights } from '../../../scheduler/views/rights/needed-rights.ts';
import { rightsObjects } from '../../../scheduler/views/rights/rights-objects.ts';
import { type ApiClient, openApiClient } from '../../harness/kubernetes/api-client.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { accountToken } from './account-token.ts';

const BASE = join(import.meta.dirname, '../../../deploy/kubernetes');
const AGENT = { namespace: 'fleet-agent', name: 'fleet-agent' };
const ACCOUNTS = 'fleet-workspaces';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const map = (namespace: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: ${namespace}}\n`;
const PACKAGES = [
  {
    assignment: { id: 'red', workspace: 'red', namespace: 'red', bounds: { namespaces: ['red'] } },
    files: new Map([['manifests/app.yaml', Buffer.from(map('red'))]]),
  },
];

/** Requests that no variant but cluster-admin allows. */
const FORBIDDEN: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/api/v1/nodes'],
  ['GET', '/api/v1/secrets'],
  ['GET', '/api/v1/namespaces/kube-system/configmaps'],
  ['GET', '/api/v1/namespaces/fleet-agent/secrets/fleet-agent-enrolment'],
  [
    'POST',
    '/api/v1/namespaces/fleet-agent/pods',
    { metadata: { name: 'x' }, spec: { containers: [{ name: 'x', image: 'x' }] } },
  ],
  ['POST', '/api/v1/namespaces/other/configmaps', { metadata: { name: 'x' } }],
  [
    'PATCH',
    `${RBAC}/namespaces/fleet-agent/roles/fleet-agent-lease`,
    { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
  ],
  [
    'POST',
    `${RBAC}/clusterrolebindings`,
    {
      metadata: { name: 'x' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [],
    },
  ],
  ['POST', `/api/v1/namespaces/${ACCOUNTS}/serviceaccounts/red/token`, { spec: {} }],
];

describeOnKubernetes(['kwok'], 'a stolen token of the agent', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;
  let agent: ApiClient;

  const apply = async (text: string): Promise<void> => {
    const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: text });
    expect(code, stderr).toBe(0);
  };
  const withToken = async (namespace: string, name: string): Promise<ApiClient> =>
    openApiClient({
      server: cluster.server,
      headers: { authorization: `Bearer ${await accountToken(cluster, namespace, name)}` },
      tls: { ca: await readFile(join(cluster.kubeconfig, '../certs/apiserver.crt')) },
    });
  const statusOf = async (client: ApiClient, [method, path, body]: (typeof FORBIDDEN)[number], as?: string) =>
    (await client.request(method, path, body, as === undefined ? {} : { as })).status;
  const grant = (accounts?: string): Promise<void> =>
    apply(
      rightsObjects(neededRights(PACKAGES, accounts !== undefined), { agent: AGENT, accounts })
        .map((one) => JSON.stringify(one))
        .join('\n---\n'),
    );

  beforeAll(async () => {
    cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
    for (const name of ['fleet-agent', ACCOUNTS, 'other'])
      await cluster.request('POST', '/api/v1/namespaces', { metadata: { name } });
    const account = await readFile(join(BASE, 'base/account.yaml'), 'utf8');
    const placed = parseAllDocuments(account).map((document) => {
      document.setIn(['metadata', 'namespace'], 'fleet-agent');
      return String(document);
    });
    await apply(placed.join('---\n'));
    agent = await withToken(AGENT.namespace, AGENT.name);
  });
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it('takes the lease and nothing else before roles are given', async () => {
    for (const one of FORBIDDEN.filter(([, path]) => !path.includes('/token')))
      expect(await statusOf(agent, one), one[1]).toBe(403);
    expect(await statusOf(agent, ['GET', '/api/v1/namespaces/red/configmaps'])).toBe(403);
    const lease = { metadata: { name: 'fleet-agent-halden' }, spec: { holderIdentity: 'thief' } };
    const path = '/apis/coordination.k8s.io/v1/namespaces/fleet-agent/leases';
    expect(await statusOf(agent, ['POST', path, lease])).toBe(201);
  });

  it('acts as the workspaces, and as no other account, with the roles of rights --accounts', async () => {
    await grant(ACCOUNTS);
    const as = (name: string) => `system:serviceaccount:${ACCOUNTS}:${name}`;
    for (const one of FORBIDDEN) {
      expect(await statusOf(agent, one), one[1]).toBe(403);
      expect(await statusOf(agent, one, as('red')), one[1]).toBe(403);
    }
    const own = ['GET', '/api/v1/namespaces/red/configmaps'] as const;
    expect(await statusOf(agent, own)).toBe(403);
    expect(await statusOf(agent, own, as('red'))).toBe(200);
    for (const user of [
      as('blue'),
      'admin',
      'system:admin',
      'system:serviceaccount:kube-system:default',
      'system:serviceaccount:fleet-agent:other',
    ])
      expect(await statusOf(agent, own, user), user).toBe(403);
    await using red = await withToken(ACCOUNTS, 'red');
    expect(await statusOf(red, own)).toBe(200);
    for (const one of FORBIDDEN) expect(await statusOf(red, one), one[1]).toBe(403);
  });

  it('reaches the kinds and namespaces of the release with the roles of rights', async () => {
    await grant();
    for (const one of FORBIDDEN) expect(await statusOf(agent, one), one[1]).toBe(403);
    expect(
      await statusOf(agent, ['POST', '/api/v1/namespaces/red/configmaps', { metadata: { name: 'x' } }]),
    ).toBe(201);
    expect(await statusOf(agent, ['GET', '/api/v1/namespaces/red/secrets'])).toBe(403);
  });

  it('does everything with the component cluster-admin', async () => {
    await apply(await readFile(join(BASE, 'cluster-admin/binding.yaml'), 'utf8'));
    expect(await statusOf(agent, ['GET', '/api/v1/secrets'])).toBe(200);
    expect(await statusOf(agent, ['GET', '/api/v1/nodes'], 'system:kube-scheduler')).toBe(200);
  });
});
