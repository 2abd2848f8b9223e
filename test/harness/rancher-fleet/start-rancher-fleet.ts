import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { FleetError } from '../../../bundles/errors.ts';
import { applyDefinitions, applyYaml } from '../flux/apply-definitions.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { awaitReady, type Component, startComponent } from '../kubernetes/component.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { passOn } from './pass-on.ts';
import { runGitJob } from './run-git-job.ts';

export type RancherFleetOptions = {
  /** parts.rancherFleet, parts.helm */
  readonly rancherFleet: string;
  readonly helm: string;
  /** kubectlOf */
  readonly kubectl: string;
  /** Ports of this machine that its agents need beside those of the API servers. */
  readonly reaches?: readonly number[];
  /** The Clusters that follow, by name. */
  readonly clusters: Readonly<Record<string, Follower>>;
};

export type Follower = {
  readonly labels: Readonly<Record<string, string>>;
  /** What its agent applies to. */
  readonly cluster: Cluster;
};

export type RancherFleet = AsyncDisposable & {
  /** The last lines of each program. */
  readonly tail: () => string;
  /** What the agent of a Cluster has said. */
  readonly agentLog: (name: string) => Promise<string>;
  /** The namespace that the management cluster has for a Cluster. */
  readonly namespaceOf: (name: string) => string;
  /** Does what the Job of a GitRepo would do. */
  readonly runGitJob: (gitRepo: string) => Promise<void>;
};

const SYSTEM = 'cattle-fleet-system';
const CLUSTERS = 'fleet-default';
const READY_MS = 120_000;

/** Settings that its programs want although nothing is elected. */
const ELECTION = Object.fromEntries(
  ['CATTLE_ELECTION', 'FLEET_AGENT_ELECTION'].flatMap((name) => [
    [`${name}_LEASE_DURATION`, '30s'],
    [`${name}_RETRY_PERIOD`, '10s'],
    [`${name}_RENEW_DEADLINE`, '25s'],
  ]),
);

/** Of the chart, what the programs read; they run here and not in its Deployments. */
const KINDS = [
  'ServiceAccount',
  'ConfigMap',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'Deployment',
];

type Document = { readonly kind?: string; readonly metadata?: object; readonly spec?: object };

/**
 * Rancher Fleet's controllers and the agents of some Clusters, outside of the clusters that they apply to. An agent listens on fixed ports of all
 * addresses, so each has a network of its own, for which it needs root. @param cluster of the controllers; it may be one of those that follow
 */
export const startRancherFleet = async (
  cluster: Cluster,
  { rancherFleet, helm, kubectl, clusters, reaches = [] }: RancherFleetOptions,
): Promise<RancherFleet> => {
  await using cleanup = new AsyncDisposableStack();
  const work = cleanup.use(await temporaryDirectory('rancher-fleet'));
  const charts = join(rancherFleet, 'charts');
  await applyDefinitions(cluster, join(charts, 'fleet-crd/templates'));
  for (const name of [SYSTEM, 'cattle-fleet-clusters-system', CLUSTERS, 'fleet-local'])
    await cluster.request('POST', '/api/v1/namespaces', { metadata: { name } });
  const words = [
    'template',
    'fleet',
    join(charts, 'fleet'),
    '-n',
    SYSTEM,
    '--set',
    `apiServerURL=${cluster.server}`,
  ];
  const { stdout } = await runOrFail([helm, ...words]);
  const objects = parseAllDocuments(stdout)
    .map((document) => document.toJS() as Document | null)
    .filter((one): one is Document => one !== null && KINDS.includes(one.kind ?? ''))
    // helm template leaves the namespace to who applies.
    .map((one) => ({
      ...one,
      ...(!one.kind?.startsWith('Cluster') && { metadata: { namespace: SYSTEM, ...one.metadata } }),
      ...(one.kind === 'Deployment' && { spec: { ...one.spec, replicas: 0 } }),
    }));
  await applyYaml(cluster, objects.map((one) => `${JSON.stringify(one)}\n`).join('---\n'));

  const components: Component[] = [];
  const start = (name: string, env: Readonly<Record<string, string>>, argv: readonly string[]): void => {
    const settings = { NAMESPACE: SYSTEM, KUBECONFIG: cluster.kubeconfig, ...ELECTION, ...env };
    const variables = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
    const component = startComponent(name, ['env', ...variables, ...argv], work.path);
    components.push(component);
    cleanup.defer(() => component.end('SIGTERM'));
  };
  const controller = (name: string, ...more: readonly string[]): void =>
    start(name, { FLEET_HEALTHPROBE_BIND_ADDRESS: '0' }, [join(rancherFleet, 'fleetcontroller'), ...more]);
  const quiet = ['--leader-elect=false', '--disable-metrics'];
  controller('fleetcontroller', ...quiet);
  controller('agentmanagement', 'agentmanagement', '--disable-bootstrap');
  controller('helmops', 'helmops', ...quiet);
  controller('gitjob', 'gitjob', ...quiet, '--listen', '127.0.0.1:0');

  const namespaces = new Map<string, string>();
  for (const [name, { labels }] of Object.entries(clusters))
    namespaces.set(name, await register(cluster, name, labels, components));
  const namespaceOf = (name: string): string => namespaces.get(name) ?? '';

  const servers = [cluster, ...Object.values(clusters).map((one) => one.cluster)];
  const ports = [...new Set([...servers.map(({ server }) => Number(new URL(server).port)), ...reaches])];
  for (const port of ports) {
    const server = passOn(port).listen(join(work.path, `${port}.sock`));
    cleanup.defer(() => void server.close());
  }
  for (const [name, { cluster: own }] of Object.entries(clusters)) {
    await own.request('POST', '/api/v1/namespaces', { metadata: { name: SYSTEM } });
    await applyYaml(own, await accessOf(cluster, name, namespaceOf(name)));
    const settings = { AGENT_SCOPE: SYSTEM, CHECKIN_INTERVAL: '15s', FLEET_AGENT_REPLICA_COUNT: '1' };
    start(agentOf(name), { ...settings, KUBECONFIG: own.kubeconfig }, [
      'unshare',
      '--net',
      process.execPath,
      join(import.meta.dirname, 'in-own-network.ts'),
      work.path,
      ports.join(','),
      join(rancherFleet, 'fleetagent'),
      '--leader-elect=false',
    ]);
  }
  const log = (name: string): string => join(work.path, `${name}.log`);
  for (const kind of ['jobs', 'configmaps'])
    start(kind, {}, [kubectl, 'get', kind, `--namespace=${CLUSTERS}`, '--watch', '--output=json']);
  const seen = { jobs: log('jobs'), configMaps: log('configmaps') };
  const moved = cleanup.move();
  return {
    agentLog: (name) => readFile(log(agentOf(name)), 'utf8'),
    namespaceOf,
    runGitJob: (gitRepo) => runGitJob(gitRepo, { rancherFleet, kubeconfig: cluster.kubeconfig, seen }),
    tail: () => components.map(({ name, tail }) => `${name}: ${tail()}`).join('\n'),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

const agentOf = (name: string): string => `fleetagent-${name}`;

/** Makes a Cluster. @returns the namespace that the controllers made for it */
const register = async (
  cluster: Cluster,
  name: string,
  labels: Readonly<Record<string, string>>,
  components: readonly Component[],
): Promise<string> => {
  const path = `/apis/fleet.cattle.io/v1alpha1/namespaces/${CLUSTERS}/clusters`;
  const made = await cluster.request('POST', path, {
    apiVersion: 'fleet.cattle.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels },
    spec: {},
  });
  if (made.status !== 201) throw new FleetError('IO', `no Cluster: ${JSON.stringify(made.body)}`);
  let namespace = '';
  await awaitReady(
    components,
    async () => {
      const { body } = await cluster.request('GET', `${path}/${name}`);
      namespace = (body as { readonly status?: { readonly namespace?: string } }).status?.namespace ?? '';
      return (
        namespace !== '' && (await cluster.request('GET', `/api/v1/namespaces/${namespace}`)).status === 200
      );
    },
    AbortSignal.timeout(READY_MS),
  );
  return namespace;
};

/** What a Cluster's registration would give its agent: the access to the cluster of the controllers. */
const accessOf = async (cluster: Cluster, called: string, namespace: string): Promise<string> => {
  const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as {
    readonly clusters: readonly [
      { readonly name: string; readonly cluster: Readonly<Record<string, string>> },
    ];
    readonly contexts: readonly [{ readonly name: string; readonly context: object }];
  };
  const [{ name, cluster: it }] = config.clusters;
  const { 'certificate-authority': ca = '', ...rest } = it;
  const [context] = config.contexts;
  const kubeconfig = JSON.stringify({
    ...config,
    clusters: [
      { name, cluster: { ...rest, 'certificate-authority-data': (await readFile(ca)).toString('base64') } },
    ],
    contexts: [{ ...context, context: { ...context.context, namespace } }],
  });
  const metadata = { name: 'fleet-agent', namespace: SYSTEM };
  const data = {
    kubeconfig,
    deploymentNamespace: namespace,
    clusterNamespace: CLUSTERS,
    clusterName: called,
  };
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: data },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { config: JSON.stringify({ clientID: '', agentTLSMode: 'strict' }) },
    },
  ]
    .map((one) => `${JSON.stringify(one)}\n`)
    .join('---\n');
};
