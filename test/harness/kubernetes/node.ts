import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import {
  type Bind,
  type Cable,
  type ExecOptions,
  type FactoryHost,
  type FactoryHostOptions,
  startFactoryHost,
} from '../hosts/factory-host.ts';
import { asRoot } from '../hosts/as-root.ts';
import { type Outcome, runOrFail, succeed } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import {
  type Admission,
  API_ADDRESS,
  NODE_ADDRESSES,
  NODE_DISKS,
  readAdmission,
  writeNodeFiles,
} from './node-files.ts';

export type NodeOptions = Pick<FactoryHostOptions, 'binds' | 'network' | 'node' | 'signal'> & {
  /** parts.nodeBase */
  readonly nodeBase: string;
  /** parts.kube */
  readonly kube: string;
  /** parts.busybox */
  readonly busybox: string;
  /** Shows this repository read-only at WORK_TREE, for programs that run from source. */
  readonly workTree?: boolean;
};

/** A whole cluster of one node, with real pods: a factory host with etcd, control plane, kubelet and containerd. */
export type KubernetesNode = AsyncDisposable & {
  /** Its name as a host and in Kubernetes. */
  readonly name: string;
  /** See FactoryHost. The host has ctr, kubectl (with all rights, for root), node, openssl. */
  readonly exec: (argv: readonly string[], options?: ExecOptions) => Promise<Outcome>;
  readonly kubectl: (args: readonly string[], options?: ExecOptions) => Promise<Outcome>;
  /** ctr in the namespace k8s.io, where the kubelet looks: `ctr(['images', 'import', '/media/usb/web.tar'])`. */
  readonly ctr: (args: readonly string[], options?: ExecOptions) => Promise<Outcome>;
  /** The power is cut: see FactoryHost.crash. */
  readonly crash: () => Promise<void>;
  /** Boots again after a crash until the node is Ready. Of pods, the API says what it last heard before the crash for a while. */
  readonly start: () => Promise<void>;
  /** See FactoryHost; with `network: 'machine'`. Pods reach the machine through it, too. */
  readonly cable?: Cable;
  readonly rootDir: string;
};

export const WORK_TREE = '/opt/fleet-ferry';
/** All rights, for programs on the node. A pod has its service account, and the API server where Kubernetes says it is. */
export const NODE_KUBECONFIG = '/etc/kubernetes/kubeconfig';

const repository = join(import.meta.dirname, '../../..');

/**
 * Boots a node; it is Ready when this returns. It runs on its own: no network but its loopback (or a cable to this
 * machine), no image but those that are imported. No kube-proxy, no DNS: pods have addresses, services have none.
 * Only the service `kubernetes` is there for pods. Needs root's rights and cgroups, as every factory host does.
 */
export const startNode = async (name: string, options: NodeOptions): Promise<KubernetesNode> => {
  await using cleanup = new AsyncDisposableStack();
  const workTree: readonly Bind[] =
    options.workTree === true ? [{ from: repository, to: WORK_TREE, readOnly: true }] : [];
  const host = await bootNode(cleanup, name, { ...options, binds: [...workTree, ...(options.binds ?? [])] });
  await untilReady(host, options.signal);
  const moved = cleanup.move();
  return {
    ...clientsOf(host),
    kubectl: (args, execOptions) => host.look(['kubectl', ...args], execOptions),
    crash: host.crash,
    start: async () => {
      await host.start();
      await untilReady(host, options.signal);
    },
    get rootDir() {
      return host.rootDir;
    },
    ...(host.cable && { cable: host.cable }),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

/** What a node that joined has of KubernetesNode. A power cut would take its wire with it. */
export type JoinedNode = AsyncDisposable & Pick<KubernetesNode, 'name' | 'exec' | 'ctr'>;

/**
 * Boots another host with a kubelet and a containerd, which joins the cluster of `first` by a wire between the two alone; it is Ready when this
 * returns. One node can join. Its pods reach the API server, and no pod of the other node.
 */
export const joinNode = async (
  name: string,
  first: KubernetesNode,
  options: Omit<NodeOptions, 'network' | 'workTree'>,
): Promise<JoinedNode> => {
  await using cleanup = new AsyncDisposableStack();
  const read = async (file: string): Promise<string> => succeed(await first.exec(['cat', file])).stdout;
  const host = await bootNode(cleanup, name, options, await readAdmission(read));
  const processOf = (root: string): string => root.split('/')[2] ?? '';
  const ends = [first, host].map(({ rootDir }) => processOf(rootDir));
  await runOrFail(asRoot(['sh', '-euc', WIRE, 'wire', ...ends]));
  await untilReady(host, options.signal);
  const moved = cleanup.move();
  return { ...clientsOf(host), [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

const bootNode = async (
  cleanup: AsyncDisposableStack,
  name: string,
  options: NodeOptions,
  admission?: Admission,
): Promise<FactoryHost> => {
  const folder = cleanup.use(await temporaryDirectory('node'));
  const files = await writeNodeFiles(folder.path, name, options, admission);
  return cleanup.use(
    await startFactoryHost(name, {
      base: options.nodeBase,
      binds: [...files, ...(options.binds ?? [])],
      disks: NODE_DISKS,
      ...(options.network && { network: options.network }),
      ...(options.node && { node: options.node }),
      ...(options.signal && { signal: options.signal }),
    }),
  );
};

const clientsOf = (host: FactoryHost): Pick<KubernetesNode, 'name' | 'exec' | 'ctr'> => ({
  name: host.name,
  exec: host.exec,
  ctr: (args, execOptions) => host.look(['ctr', '--namespace', 'k8s.io', ...args], execOptions),
});

const untilReady = async (host: FactoryHost, signal?: AbortSignal): Promise<void> => {
  const outcome = await host.exec(['timeout', '120', 'sh', '-c', AWAIT_READY, 'await', host.name], {
    ...(signal && { signal }),
  });
  if (outcome.code === 0) return;
  const units = await host.exec(['journalctl', '--boot', '--unit=kube*', '--lines=15', '--output=cat']);
  throw new FleetError(
    'IO',
    `The node ${host.name} does not get ready; its units last said:\n${units.stdout}`,
  );
};

const [FIRST, JOINED] = NODE_ADDRESSES;
/** Between the network namespaces of two processes. It is gone when one of them is. */
const WIRE = `
  ip link add wire netns "$1" type veth peer name wire netns "$2"
  nsenter --target "$1" --net sh -euc 'ip address add ${FIRST} peer ${JOINED} dev wire; ip link set wire up'
  nsenter --target "$2" --net sh -euc 'ip address add ${JOINED} peer ${FIRST} dev wire; ip link set wire up; ip route add ${API_ADDRESS} via ${FIRST} dev wire'`;

/** After a power cut the API still says Ready from before: it must be the kubelet of this boot that says so. */
const AWAIT_READY = `
  boot=$(cat /proc/sys/kernel/random/boot_id)
  hold() { until kubectl wait --timeout=120s "$@" > /dev/null 2>&1; do sleep 0.2; done; }
  hold --for=create "node/$1"
  hold --for=jsonpath='{.status.nodeInfo.bootID}'="$boot" "node/$1"
  hold --for=condition=Ready "node/$1"
  hold --for=create serviceaccount/default`;
