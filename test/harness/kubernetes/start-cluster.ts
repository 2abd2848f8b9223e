import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { startK3dCluster } from '../k3d/k3d-cluster.ts';
import { findPart, thisMachine } from '../parts.ts';
import { kubectlOf } from '../parts/kube.ts';
import { runCommand, runOrFail } from '../run/run-command.ts';
import { type ClusterChoice, chooseCluster } from './choose-cluster.ts';
import type { Cluster } from './cluster.ts';
import { readServer } from './kubeconfig.ts';
import { openKubeconfigClient } from './kubeconfig-client.ts';
import { type OwnClusterOptions, startOwnCluster } from './own-cluster.ts';

export type ClusterOptions = Pick<OwnClusterOptions, 'nodes' | 'signal'>;

/**
 * The Kubernetes API that chooseCluster found, for tests that only need one (describeWithCluster names them). Tests that
 * stop the API server, count its requests or fill its disk need startOwnCluster and parts kube and kwok.
 */
export const startCluster = async (options: ClusterOptions = {}): Promise<Cluster> => {
  const choice = chooseCluster();
  switch (choice.how) {
    case 'given':
      return openGivenCluster(choice);
    case 'k3d':
      return startK3dCluster({ ...options, k3d: choice.k3d, kubectl: kubectlHere() });
    case 'assets':
      return startOwnCluster({ ...options, ...choice, programs: programsIn(choice.folder) });
    case 'own':
      return startOwnCluster({ ...options, ...choice });
    case 'none':
      throw new FleetError('TOOL_MISSING', choice.reason);
  }
};

const openGivenCluster = async ({
  kubeconfig,
  bringImages,
}: Extract<ClusterChoice, { how: 'given' }>): Promise<Cluster> => {
  const client = await openKubeconfigClient(kubeconfig);
  return {
    how: 'given',
    nodes: 'real',
    kubeconfig,
    server: readServer(await readFile(kubeconfig, 'utf8')),
    kubectl: (args, options) =>
      runCommand([...kubectlHere(), `--kubeconfig=${kubeconfig}`, ...args], options),
    request: client.request,
    bringImages: async (archive) => {
      if (bringImages === undefined)
        throw new FleetError(
          'TOOL_MISSING',
          'FLEET_TEST_BRING_IMAGES is not set: this cluster gets no images.',
        );
      await runOrFail(['sh', '-c', bringImages, 'bring-images', archive]);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

const programsIn = (folder: string): OwnClusterOptions['programs'] =>
  Object.fromEntries(
    ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl']
      .map((name) => [name, join(folder, name)] as const)
      .filter(([, path]) => existsSync(path))
      .map(([name, path]) => [name, [path]]),
  );

/** Our own where it was built, else the one in PATH. */
const kubectlHere = (): readonly string[] => {
  const kube = findPart('kube', thisMachine());
  if (kube.present) return [kubectlOf(kube.path)];
  const path = findProgram('kubectl');
  if (path === undefined) throw new FleetError('TOOL_MISSING', 'There is no kubectl here.');
  return [path];
};
