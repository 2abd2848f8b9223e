/**
 * Kubernetes in containers by k3d. It needs a container engine, which the machine this was written on does not have:
 * k3d was built and its flags were checked, but no cluster was ever made with it (docs/testing.md names it as unproven).
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../find-program.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { stablePort } from '../kubernetes/stable-port.ts';
import { runCommand, runOrFail } from '../run-command.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

export type K3dCluster = Cluster & {
  readonly how: 'k3d';
  /** The name by which k3d knows it. */
  readonly name: string;
  /** Brings the images of a docker or OCI archive to its nodes. */
  readonly importImage: (archive: string) => Promise<void>;
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

/** k3d built from its module would take one that is years old. */
const NODE_IMAGE = 'rancher/k3s:v1.31.5-k3s1';

/** Creates a cluster of one server, which is a real node; dispose deletes it. The user's own kubeconfig is left alone. */
export const startK3dCluster = async (options: K3dOptions): Promise<K3dCluster> => {
  const kubectl = options.kubectl ?? [findKubectl()];
  const name = `fleet-ferry-${randomUUID().slice(0, 8)}`;
  const k3d = (...words: readonly string[]) => runOrFail([options.k3d, ...words], { signal: options.signal });
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('k3d'));
  const kubeconfig = join(folder.path, 'kubeconfig');

  // Not tied to `signal`: what was begun is deleted even then.
  cleanup.defer(async () => {
    await runCommand([options.k3d, 'cluster', 'delete', name]);
  });
  await k3d(
    'cluster',
    'create',
    name,
    '--servers=1',
    `--image=${options.image ?? NODE_IMAGE}`,
    '--no-lb',
    `--api-port=127.0.0.1:${await stablePort()}`,
    '--k3s-arg=--disable=traefik,servicelb,metrics-server@server:*',
    '--kubeconfig-update-default=false',
    '--kubeconfig-switch-context=false',
    '--wait',
    '--timeout=180s',
  );
  await k3d('kubeconfig', 'write', name, `--output=${kubeconfig}`);
  const server = readServer(await readFile(kubeconfig, 'utf8'));
  const run: Cluster['kubectl'] = (args, runOptions) =>
    runCommand([...kubectl, `--kubeconfig=${kubeconfig}`, ...args], runOptions);

  const moved = cleanup.move();
  return {
    how: 'k3d',
    nodes: 'real',
    name,
    kubeconfig,
    server,
    kubectl: run,
    importImage: async (archive) => {
      await k3d('image', 'import', archive, `--cluster=${name}`);
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

const findKubectl = (): string => {
  const path = findProgram('kubectl');
  if (path === undefined) throw new FleetError('TOOL_MISSING', 'There is no kubectl in PATH.');
  return path;
};

/** The server of a kubeconfig's current context. */
export const readServer = (text: string): string => {
  type Named<T> = readonly ({ readonly name: string } & T)[];
  const config = parse(text) as {
    readonly clusters?: Named<{ readonly cluster: { readonly server: string } }>;
    readonly contexts?: Named<{ readonly context: { readonly cluster: string } }>;
    readonly 'current-context'?: string;
  };
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const server = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster.server;
  if (server === undefined)
    throw new FleetError('FIELD_INVALID', 'The kubeconfig has no cluster for its current context.');
  return server;
};
