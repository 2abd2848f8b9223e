import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../../harness/kubernetes/cluster.ts';
import type { Office } from '../office.ts';
import { type Field, replaceFile } from './field.ts';

const DEPLOYMENT = 'apps/line-control/kubernetes/deployment.yaml';
/** Enough of them for an operation to take a moment. */
const MAPS = 12;

type Live = {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly replicas?: number };
};

export type ClusterFieldOptions = {
  /** What the example's cluster type is called in this office: the namespaces are named after it. */
  readonly clusterType?: string;
  /** How long a package may take to become healthy: fake pods are so at once. */
  readonly healthTimeout?: string;
};

/** Where the agent puts the packages of line-control and telemetry. */
export const namespacesOf = (clusterType: string): readonly [string, string] => [
  `prod-${clusterType}-line-control-line`,
  `prod-${clusterType}-telemetry-line`,
];

/** Packages on a cluster. Each release changes a Deployment, brings objects of its own and drops the last one's. */
export const makeClusterField = async (
  office: Office,
  cluster: Pick<Cluster, 'kubeconfig' | 'request'>,
  { clusterType = 'factory-line', healthTimeout = '10s' }: ClusterFieldOptions = {},
): Promise<Field> => {
  const [own, other] = namespacesOf(clusterType);
  const template = await readFile(join(office.folder, DEPLOYMENT), 'utf8');
  let newest = 0;
  const list = async (path: string): Promise<readonly Live[]> => {
    const { body } = await cluster.request('GET', path);
    return (body as { readonly items?: readonly Live[] }).items ?? [];
  };
  const mapsOf = (n: number): readonly string[] =>
    Array.from({ length: MAPS }, (_, index) => `of-release-${n}-${index}`);
  const maps = `/api/v1/namespaces/${own}/configmaps`;
  const deployments = (namespace: string): string => `/apis/apps/v1/namespaces/${namespace}/deployments`;
  return {
    channel: `prod/${clusterType}`,
    env: {
      FLEET_AGENT_TARGETS: 'kubernetes',
      FLEET_AGENT_KUBECONFIG: cluster.kubeconfig,
      FLEET_AGENT_HEALTH_TIMEOUT: healthTimeout,
    },
    change: async (n, good) => {
      newest = n;
      const annotated = template.replace(
        '  name: line-control\n',
        `  name: line-control\n  annotations: {release: "${n}"}\n`,
      );
      // No server takes a port like this one.
      const broken = good ? annotated : annotated.replace('containerPort: 8080', 'containerPort: 88080');
      const extra = mapsOf(n).map(
        (name) =>
          `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {release: "${n}"}\n`,
      );
      await replaceFile(office, DEPLOYMENT, `${broken}${extra.join('')}`);
    },
    spoil: async (random) => {
      const found = (await list(maps)).filter(({ metadata }) => metadata.name.startsWith('of-release'));
      const name = found[Math.floor(random() * found.length)]?.metadata.name;
      if (name === undefined) return;
      const how = Math.floor(random() * 3);
      if (how === 0) await cluster.request('DELETE', `${maps}/${name}`);
      if (how === 1) await cluster.request('PATCH', `${maps}/${name}`, { data: { release: 'spoilt' } });
      if (how === 2)
        await cluster.request('PATCH', `${deployments(other)}/telemetry`, { spec: { replicas: 3 } });
    },
    faults: async () => {
      const found = (await list(maps)).filter(({ metadata }) => metadata.name.startsWith('of-release'));
      const names = new Set(found.map(({ metadata }) => metadata.name));
      const wanted = new Set(mapsOf(newest));
      const [control] = await list(deployments(own));
      const [telemetry] = await list(deployments(other));
      const release = control?.metadata.annotations?.['release'];
      return [
        ...(release === String(newest) ? [] : [`the Deployment is of release ${release}, not ${newest}`]),
        ...(telemetry?.spec?.replicas === 1 ? [] : [`telemetry has ${telemetry?.spec?.replicas} replicas`]),
        ...[...wanted].filter((name) => !names.has(name)).map((name) => `${name} is missing`),
        ...[...names].filter((name) => !wanted.has(name)).map((name) => `${name} is an orphan`),
        ...found
          .filter(({ metadata, data }) => wanted.has(metadata.name) && data?.['release'] !== String(newest))
          .map(({ metadata }) => `${metadata.name} is spoilt`),
      ];
    },
  };
};
