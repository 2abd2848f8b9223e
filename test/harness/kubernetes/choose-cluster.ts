import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findPart, type PartName, partTitle, thisMachine } from '../parts.ts';

/** Where tests get their Kubernetes API from on this machine. */
export type ClusterChoice =
  | {
      readonly how: 'given';
      readonly kubeconfig: string;
      /** What brings an archive of images to its nodes: a line for `sh`, which has its path as $1. */
      readonly bringImages?: string;
    }
  | { readonly how: 'k3d'; readonly k3d: string }
  | { readonly how: 'assets'; readonly folder: string; readonly kube: string; readonly kwok: string }
  | { readonly how: 'own'; readonly kube: string; readonly kwok: string }
  | { readonly how: 'none'; readonly reason: string };

/**
 * The first of: the cluster that FLEET_TEST_KUBECONFIG names; k3d, when a container engine answers; etcd and API server
 * of the folder KUBEBUILDER_ASSETS (another version than ours; the rest, which is not in there, is ours); our own.
 */
export const chooseCluster = (env: NodeJS.ProcessEnv = process.env): ClusterChoice => {
  const given = env['FLEET_TEST_KUBECONFIG'];
  if (given) {
    const bringImages = env['FLEET_TEST_BRING_IMAGES'];
    if (existsSync(given)) return { how: 'given', kubeconfig: given, ...(bringImages && { bringImages }) };
    return { how: 'none', reason: `FLEET_TEST_KUBECONFIG names ${given}, which does not exist` };
  }
  const machine = thisMachine(env);
  const k3d = findPart('k3d', machine);
  if (k3d.present) return { how: 'k3d', k3d: k3d.path };
  const kube = findPart('kube', machine);
  const kwok = findPart('kwok', machine);
  if (!kube.present || !kwok.present) {
    const absent = Object.entries({ kube, kwok }).flatMap(([name, part]) =>
      part.present ? [] : [`${partTitle(name as PartName)}: ${part.reason}`],
    );
    return { how: 'none', reason: absent.join(' ') };
  }
  const own = { kube: kube.path, kwok: kwok.path };
  const folder = env['KUBEBUILDER_ASSETS'];
  if (!folder) return { how: 'own', ...own };
  const missing = ['etcd', 'kube-apiserver'].find((name) => !existsSync(join(folder, name)));
  if (missing === undefined) return { how: 'assets', folder, ...own };
  return { how: 'none', reason: `KUBEBUILDER_ASSETS names ${folder}, which has no ${missing}` };
};

/** Why pods that are made here cannot run on that cluster; undefined: they can, or its nodes only say that they do. */
export const whyNoPods = (
  choice: ClusterChoice,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined => {
  if (choice.how === 'none') return choice.reason;
  if (choice.how === 'own' || choice.how === 'assets') return undefined;
  if (choice.how === 'given' && choice.bringImages === undefined)
    return 'FLEET_TEST_KUBECONFIG is given, but no FLEET_TEST_BRING_IMAGES by which its nodes get images';
  const busybox = findPart('busybox', thisMachine(env));
  return busybox.present ? undefined : `${partTitle('busybox')}: ${busybox.reason}`;
};
