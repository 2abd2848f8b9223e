import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, statfsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { freePort } from '../neighbours/free-port.ts';
import { claimHostFolder, releaseHostFolder, removeHostFolder } from '../hosts/host-folders.ts';
import { kubectlOf } from '../parts/kube.ts';
import { runCommand } from '../run/run-command.ts';
import { type ApiAnswer, type ApiClient, openApiClient } from './api-client.ts';
import { AUDIT_POLICY, readAuditLog } from './audit-log.ts';
import type { OwnCluster } from './cluster.ts';
import { awaitReady, type Component, GO_MEMORY, startComponent } from './component.ts';
import { fakeNode, isNodeReady } from './fake-node.ts';
import { formatKubeconfig } from './kubeconfig.ts';

/** Command lines that begin the programs of a cluster: `[kube, 'etcd']`, or a binary of one's own. */
export type ClusterPrograms = Readonly<
  Record<
    'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl',
    readonly string[]
  >
>;

export type OwnClusterOptions = {
  /** parts.kube */
  readonly kube: string;
  /** Programs to be used instead of those in `kube`. */
  readonly programs?: Partial<ClusterPrograms>;
  /** parts.kwok */
  readonly kwok: string;
  /** How many fake nodes, each with 32 CPUs, 256 Gi and room for 1000 pods. */
  readonly nodes?: number;
  /** More flags of the API server: '--disable-admission-plugins=...', '--admission-control-config-file=...'. */
  readonly apiServerFlags?: readonly string[];
  /** etcd refuses writes above this many bytes, and keeps refusing: a cluster whose disk is full. */
  readonly etcdQuota?: number;
  /** Writes an audit log, for readAudit(). */
  readonly audit?: boolean;
  readonly signal?: AbortSignal;
};

const READY_MS = 120_000;
/** etcd reserves 64 MiB for each piece of its log. */
const MEMORY_WANTED = 1 << 30;

/**
 * Starts etcd (in memory, without fsync), the API server, the controller manager, the scheduler and kwok on the
 * loopback, at ports of their own. All of it dies with this process; what a killed run left is removed by the next.
 */
export const startOwnCluster = async (options: OwnClusterOptions): Promise<OwnCluster> => {
  const components: Component[] = [];
  const folder = await claimHostFolder(memoryFolder(), 'cluster', removeHostFolder);
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(async () => {
    await Promise.all(components.map((component) => component.end('SIGKILL')));
    removeHostFolder(folder);
    releaseHostFolder(folder);
  });
  const limits = [AbortSignal.timeout(READY_MS), ...(options.signal ? [options.signal] : [])];
  const limit = AbortSignal.any(limits);
  const programs = programsOf(options);
  const start = (name: string, argv: readonly string[]): Component => {
    const component = startComponent(name, argv, folder);
    components.push(component);
    return component;
  };

  const server = `https://127.0.0.1:${await freePort()}`;
  const token = randomBytes(16).toString('hex');
  const kubeconfig = join(folder, 'kubeconfig');
  const ca = join(folder, 'certs/apiserver.crt');
  await mkdir(join(folder, 'certs'));
  await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`);
  await writeFile(join(folder, 'accounts.key'), newAccountKey());
  await writeFile(join(folder, 'audit-policy.json'), AUDIT_POLICY);
  await writeFile(kubeconfig, formatKubeconfig({ server, token, ca }));

  start('etcd', [...programs.etcd, ...etcdFlags(options)]);
  let client: ApiClient | undefined;
  let apiServer: Component | undefined;
  let clients: readonly Component[] = [];
  const ask: ApiClient['request'] = (...words) => {
    if (client === undefined) throw new FleetError('INTERNAL', 'The API server has never been up.');
    return client.request(...words);
  };
  const isReady = async (): Promise<boolean> => {
    if (client === undefined && existsSync(ca))
      client = openApiClient({
        server,
        headers: { authorization: `Bearer ${token}` },
        tls: { ca: await readFile(ca) },
      });
    if (client === undefined) return false;
    return client.request('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    );
  };
  const startApiServer = async (): Promise<void> => {
    if (apiServer?.isRunning()) throw new FleetError('BUSY', 'The API server is running already.');
    apiServer = start('kube-apiserver', [
      ...programs['kube-apiserver'],
      ...apiServerFlags(folder, server, options),
    ]);
    await awaitReady([apiServer], isReady, AbortSignal.timeout(READY_MS));
    // A kwok that is killed keeps its nodes until its leases have run out, and the next one has another name.
    await ask('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
    clients = Object.entries(clientsOf(kubeconfig, ca, programs, options.kwok)).map(([name, argv]) =>
      start(name, argv),
    );
  };
  // Its clients go and come with it: left alone, they would try again ever more seldom and be back late.
  const stopApiServer = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await Promise.all(clients.map((component) => component.end('SIGKILL')));
    await apiServer?.end(signal);
  };
  const awaitState = (path: string, isSo: (answer: ApiAnswer) => boolean): Promise<void> =>
    awaitReady(clients, async () => isSo(await ask('GET', path)), limit);
  await startApiServer();
  const nodes = Array.from({ length: options.nodes ?? 1 }, (_, index) => `node-${index + 1}`);
  for (const name of nodes) await ask('POST', '/api/v1/nodes', fakeNode(name));
  await awaitState('/api/v1/namespaces/default/serviceaccounts/default', ({ status }) => status === 200);
  for (const name of nodes) await awaitState(`/api/v1/nodes/${name}`, ({ body }) => isNodeReady(body));

  const moved = cleanup.move();
  return {
    how: options.programs === undefined ? 'own' : 'assets',
    nodes: 'fake',
    kubeconfig,
    server,
    kubectl: (args, runOptions) =>
      runCommand([...programs.kubectl, `--kubeconfig=${kubeconfig}`, ...args], {
        ...runOptions,
        env: { ...(runOptions?.env ?? process.env), ...GO_MEMORY },
      }),
    request: ask,
    // Nodes that run nothing have every image.
    bringImages: () => Promise.resolve(),
    stopApiServer: () => stopApiServer('SIGTERM'),
    killApiServer: () => stopApiServer('SIGKILL'),
    startApiServer,
    restartApiServer: async () => {
      await stopApiServer('SIGTERM');
      await startApiServer();
    },
    readAudit: () => readAuditLog(join(folder, 'audit.log')),
    [Symbol.asyncDispose]: async () => {
      await client?.[Symbol.asyncDispose]();
      await moved.disposeAsync();
    },
  };
};

const clientsOf = (
  kubeconfig: string,
  ca: string,
  programs: ClusterPrograms,
  kwok: string,
): Readonly<Record<string, readonly string[]>> => {
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
  return {
    'kube-controller-manager': [
      ...programs['kube-controller-manager'],
      ...common,
      '--service-account-private-key-file=accounts.key',
      `--root-ca-file=${ca}`,
      // Its own limit is 20 writes a second: a thousand objects would be a test of that.
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
    ],
    'kube-scheduler': [
      ...programs['kube-scheduler'],
      ...common,
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
    ],
    kwok: [
      join(kwok, 'kwok'),
      `--kubeconfig=${kubeconfig}`,
      '--manage-all-nodes=true',
      '--node-ip=127.0.0.1',
      '--node-lease-duration-seconds=40',
      `--config=${join(kwok, 'stages.yaml')}`,
    ],
  };
};

const programsOf = ({ kube, programs }: OwnClusterOptions): ClusterPrograms => ({
  etcd: [kube, 'etcd'],
  'kube-apiserver': [kube, 'kube-apiserver'],
  'kube-controller-manager': [kube, 'kube-controller-manager'],
  'kube-scheduler': [kube, 'kube-scheduler'],
  kubectl: [kubectlOf(kube)],
  ...programs,
});

/** Memory where there is enough of it: etcd waits for its disk at every write. */
const memoryFolder = (): string => {
  const name = `fleet-ferry-${process.getuid?.() ?? 'user'}`;
  if (!existsSync('/dev/shm')) return join(tmpdir(), name);
  const { bavail, bsize } = statfsSync('/dev/shm');
  return join(bavail * bsize > MEMORY_WANTED ? '/dev/shm' : tmpdir(), name);
};

const newAccountKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs1', format: 'pem' })
    .toString();

const etcdFlags = ({ etcdQuota }: OwnClusterOptions): readonly string[] => [
  '--data-dir=etcd',
  '--unsafe-no-fsync',
  '--log-level=warn',
  // Sockets, so that etcd takes no port at all. It insists on something like host:port, and advertises to nobody.
  '--listen-client-urls=unix://client:1',
  '--advertise-client-urls=http://127.0.0.1:1',
  '--listen-peer-urls=unix://peer:1',
  ...(etcdQuota === undefined ? [] : [`--quota-backend-bytes=${etcdQuota}`]),
];

const apiServerFlags = (
  folder: string,
  server: string,
  { apiServerFlags = [], audit }: OwnClusterOptions,
): readonly string[] => [
  `--etcd-servers=unix://${join(folder, 'client:1')}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--secure-port=${new URL(server).port}`,
  '--cert-dir=certs',
  '--service-account-key-file=accounts.key',
  '--service-account-signing-key-file=accounts.key',
  '--service-account-issuer=https://kubernetes.default.svc',
  '--token-auth-file=tokens.csv',
  '--authorization-mode=RBAC',
  '--service-cluster-ip-range=10.96.0.0/16',
  '--endpoint-reconciler-type=none',
  '--allow-privileged',
  ...(audit === true
    ? ['--audit-policy-file=audit-policy.json', '--audit-log-path=audit.log', '--audit-log-mode=blocking']
    : []),
  ...apiServerFlags,
];
