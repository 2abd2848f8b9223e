import { writeFile } from 'node:fs/promises';
import { KubeConfig } from '@kubernetes/client-node';
import type { Cluster } from './cluster.ts';

/** Somebody who may look at everything of a cluster and change nothing. */
export type Reader = AsyncDisposable & {
  /** Path of its kubeconfig. */
  readonly kubeconfig: string;
};

/**
 * Makes one. Who does a job with its rights has not even tried to write: a request that changes nothing leaves no trace in
 * the objects, but this account is refused it.
 * @param name of its role, which is the cluster's, and of its account in `namespace`
 */
export const makeReader = async (
  cluster: Cluster,
  { name, namespace, file }: { readonly name: string; readonly namespace: string; readonly file: string },
): Promise<Reader> => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await cluster.request(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  await using cleanup = new AsyncDisposableStack();
  const make = async (path: string, body: object): Promise<void> => {
    await ask('POST', path, { metadata: { name }, ...body });
    cleanup.defer(async () => void (await cluster.request('DELETE', `${path}/${name}`)));
  };
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await make(accounts, {});
  await make(`${rbac}/clusterroles`, {
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }],
  });
  await make(`${rbac}/clusterrolebindings`, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const { status } = (await ask('POST', `${accounts}/${name}/token`, { spec: {} })) as {
    readonly status: { readonly token: string };
  };
  await writeFile(file, withToken(cluster.kubeconfig, status.token), { mode: 0o600 });
  const moved = cleanup.move();
  return { kubeconfig: file, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

/** The same cluster for somebody else. */
const withToken = (kubeconfig: string, token: string): string => {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${kubeconfig} has no cluster`);
  const own = new KubeConfig();
  own.loadFromClusterAndUser(cluster, { name: 'reader', token });
  return own.exportConfig();
};
