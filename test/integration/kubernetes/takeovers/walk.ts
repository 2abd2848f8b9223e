import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';

/** A ConfigMap and a Deployment of two pods. */
export const objects = (namespace: string, keys: readonly string[], annotations: object = {}): string =>
  [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace, annotations },
      data: Object.fromEntries(keys.map((key) => [key, 'x'])),
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace, annotations },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'a', image: 'a', env: keys.map((name) => ({ name, value: 'x' })) }] },
        },
      },
    },
  ]
    .map((object) => `${JSON.stringify(object)}\n`)
    .join('---\n');

/** Annotations by which a package takes what belongs to another tool, and by which an object stays when it leaves the package. */
export const ALWAYS = { 'fleet-ferry/adopt': 'always' };
export const KEPT = { 'fleet-ferry/prune': 'disabled' };

/** What a walk from another tool to our agent and back looks at. */
export type Walk = {
  /** An agent on the cluster that takes over objects without an owner. */
  readonly newSite: () => Promise<KubernetesSite>;
  /** UIDs of all pods of a namespace. */
  readonly podsIn: (namespace: string) => Promise<readonly string[]>;
  /** Keys of the ConfigMap `settings`. */
  readonly keysIn: (namespace: string) => Promise<readonly string[]>;
  /** Labels, annotations and field managers of the ConfigMap `settings`, as text. */
  readonly marksIn: (namespace: string) => Promise<string>;
};

/** @param folder for what the agent keeps */
export const openWalk = (cluster: Cluster, folder: string): Walk => {
  const newSite = (): Promise<KubernetesSite> =>
    createSite(
      kubernetesTarget({
        open: async () =>
          openKubernetesApi(await openClusterAccess({ kubeconfig: cluster.kubeconfig, context: '' }), {
            patienceMs: 30_000,
            requestMs: 30_000,
          }),
        fleet: FLEET,
        healthTimeoutMs: 60_000,
        stepTimeoutMs: 20_000,
        adopt: 'ifUnowned',
        copies: copiesIn(folder),
      }),
    );
  const get = async (path: string): Promise<Record<string, unknown>> =>
    (await cluster.request('GET', path)).body as Record<string, unknown>;
  const podsIn = async (namespace: string): Promise<readonly string[]> => {
    const { items } = (await get(`/api/v1/namespaces/${namespace}/pods`)) as unknown as {
      items: { metadata: { uid: string; deletionTimestamp?: string } }[];
    };
    return items.map(({ metadata }) => metadata.uid).toSorted();
  };
  const keysIn = async (namespace: string): Promise<readonly string[]> =>
    Object.keys(
      ((await get(`/api/v1/namespaces/${namespace}/configmaps/settings`))['data'] as object | undefined) ??
        {},
    );
  const marksIn = async (namespace: string): Promise<string> => {
    const found = (await get(`/api/v1/namespaces/${namespace}/configmaps/settings`)) as {
      metadata?: { labels?: object; annotations?: object; managedFields?: { manager: string }[] };
    };
    const { labels, annotations, managedFields = [] } = found.metadata ?? {};
    return JSON.stringify({ labels, annotations, managers: managedFields.map(({ manager }) => manager) });
  };

  return { newSite, podsIn, keysIn, marksIn };
};
