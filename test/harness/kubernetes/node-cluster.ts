import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FleetError } from '../../../bundles/errors.ts';
import type { ExecOptions } from '../hosts/factory-host.ts';
import { kubectlOf } from '../parts/kube.ts';
import { type Outcome, runCommand } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import type { Cluster } from './cluster.ts';
import { formatKubeconfig } from './kubeconfig.ts';
import { openKubeconfigClient } from './kubeconfig-client.ts';
import { NODE_KUBECONFIG, type NodeOptions, startNode } from './node.ts';

export type NodeCluster = Cluster & {
  readonly how: 'node';
  readonly nodes: 'real';
};

/** The API server makes itself a certificate with the names that pods know it by, and none of the cable's. */
const SERVER_NAME = 'kubernetes.default.svc';
const CERTIFICATE = '/var/lib/kubernetes/certificates/apiserver.crt';

/**
 * The cluster of one node that startNode boots, as one that this machine reaches over a cable: the same for a test as k3d or
 * a cluster that was given, down to real pods.
 */
export const startNodeCluster = async (
  name: string,
  options: Omit<NodeOptions, 'network'>,
): Promise<NodeCluster> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('node-cluster'));
  const node = cleanup.use(await startNode(name, { ...options, network: 'machine' }));
  if (node.cable === undefined) throw new FleetError('INTERNAL', `Node ${name} has no cable.`);
  const read = async (path: string): Promise<string> => said(await node.exec(['cat', path]));
  const ca = join(folder.path, 'ca.crt');
  await writeFile(ca, await read(CERTIFICATE));
  const inside = parse(await read(NODE_KUBECONFIG)) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  const kubeconfig = join(folder.path, 'kubeconfig');
  const server = `https://${node.cable.hostAddress}`;
  const [{ user }] = inside.users;
  await writeFile(kubeconfig, formatKubeconfig({ server, token: user.token, ca, serverName: SERVER_NAME }), {
    mode: 0o600,
  });
  const client = cleanup.use(await openKubeconfigClient(kubeconfig));
  const moved = cleanup.move();
  return {
    how: 'node',
    nodes: 'real',
    kubeconfig,
    server,
    kubectl: (args, runOptions) =>
      runCommand([kubectlOf(options.kube), `--kubeconfig=${kubeconfig}`, ...args], runOptions),
    request: client.request,
    bringImages: async (archive) => {
      const input: ExecOptions = { input: await readFile(archive) };
      said(await node.ctr(['images', 'import', '-'], input));
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

const said = ({ code, stdout, stderr }: Outcome): string => {
  if (code !== 0) throw new FleetError('IO', `The node answered with ${code}: ${stderr || stdout}`);
  return stdout;
};
