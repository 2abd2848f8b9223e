import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { formatKubeconfig } from '../../harness/kubernetes/kubeconfig.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';

/** A token of a service account, as its pod has it. */
export const accountToken = async (cluster: OwnCluster, namespace: string, name: string): Promise<string> => {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const { status, body } = await cluster.request('POST', path, { spec: {} });
  expect(status, JSON.stringify(body)).toBe(201);
  return (body as { readonly status: { readonly token: string } }).status.token;
};

/** A kubeconfig in the folder that has nothing but this token. @returns its path */
export const tokenKubeconfig = async (
  cluster: OwnCluster,
  token: string,
  folder: string,
): Promise<string> => {
  const path = join(folder, `kubeconfig-${token.slice(-12)}`);
  await writeFile(path, formatKubeconfig({ server: cluster.server, token, ca: caOf(cluster) }), {
    mode: 0o600,
  });
  return path;
};

const caOf = ({ kubeconfig }: OwnCluster): string => join(kubeconfig, '../certs/apiserver.crt');
