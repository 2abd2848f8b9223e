/**
 * Kubernetes in containers by k3d. It needs a container engine, which the machine this was written on does not have:
 * k3d was built and its arguments were checked against it, but no cluster was ever made (docs/testing.md).
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { freePort } from '../neighbours/free-port.ts';
import { claimHostFolder, releaseHostFolder } from '../hosts/host-folders.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { readServer } from '../kubernetes/kubeconfig.ts';
import { openKubeconfigClient } from '../kubernetes/kubeconfig-client.ts';
import { cacheDirectory } from '../parts/cache-folder.ts';
import { runCommand, runOrFail } from '../run/run-command.ts';
import { clusterNameOf, createWords, deleteWords, importWords, kubeconfigWords } from './k3d-words.ts';

export type K3dCluster = Cluster & {
  readonly how: 'k3d';
  /** The name by which k3d knows it. */
  readonly name: string;
};

export type K3dOptions = {
  /** parts.k3d */
  readonly k3d: string;
  /** The command line of kubectl; by default the one in PATH. */
  readonly kubectl?: readonly string[];
  /** The image of its nodes, which the engine must have or be able to pull. */
  readonly image?: string;
  readonly signal?: AbortSignal;
};

const READY_MS = 120_000;

/**
 * Creates a cluster of one server, which is a real node; dispose deletes it, and what a killed run left is deleted by the
 * next. The user's own kubeconfig is left alone.
 */
export const startK3dCluster = async (options: K3dOptions): Promise<K3dCluster> => {
  const kubectl = options.kubectl ?? [findKubectl()];
  const { k3d, signal } = options;
  // Containers outlive the process that asked for them, whichever way it ends.
  const folder = await claimHostFolder(join(cacheDirectory(process.env), 'k3d-clusters'), 'k3d', (left) => {
    spawnSync(k3d, deleteWords(clusterNameOf(left)), { stdio: 'ignore' });
    rmSync(left, { recursive: true, force: true });
  });
  const name = clusterNameOf(folder);
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(async () => {
    // Not tied to `signal`: what was begun is deleted even then.
    await runCommand([k3d, ...deleteWords(name)]);
    rmSync(folder, { recursive: true, force: true });
    releaseHostFolder(folder);
  });
  const call = (words: readonly string[]) => runOrFail([k3d, ...words], { signal });
  await call(createWords({ name, port: await freePort(), image: options.image }));
  const kubeconfig = join(folder, 'kubeconfig');
  await call(kubeconfigWords(name, kubeconfig));
  const run: Cluster['kubectl'] = (args, runOptions) =>
    runCommand([...kubectl, `--kubeconfig=${kubeconfig}`, ...args], runOptions);
  await awaitNode(run, signal);
  const client = cleanup.use(await openKubeconfigClient(kubeconfig));

  const server = readServer(await readFile(kubeconfig, 'utf8'));
  const moved = cleanup.move();
  return {
    how: 'k3d',
    nodes: 'real',
    name,
    kubeconfig,
    server,
    kubectl: run,
    request: client.request,
    bringImages: async (archive) => {
      await call(importWords(name, archive));
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

/** k3d waits for the API server; its node and what pods need of a namespace come a moment later. */
const awaitNode = async (kubectl: Cluster['kubectl'], signal: AbortSignal | undefined): Promise<void> => {
  const ready = '--output=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
  const limit = Date.now() + READY_MS;
  for (;;) {
    const node = await kubectl(['get', 'nodes', ready], { signal });
    const account = await kubectl(['get', 'serviceaccount', 'default'], { signal });
    if (node.stdout.trim() === 'True' && account.code === 0) return;
    if (Date.now() > limit)
      throw new FleetError('IO', `The node of k3d does not get ready: ${node.stderr || account.stderr}`);
    await sleep(500);
  }
};

const findKubectl = (): string => {
  const path = findProgram('kubectl');
  if (path === undefined) throw new FleetError('TOOL_MISSING', 'There is no kubectl in PATH.');
  return path;
};
