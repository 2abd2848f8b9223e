import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openClusterAccess } from '../../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

const kubeconfig = (cluster: string): string => `apiVersion: v1
kind: Config
current-context: line
contexts: [{ name: line, context: { cluster: line-1, user: agent } }]
clusters: [{ name: line-1, cluster: { server: 'https://10.0.0.1:6443/'${cluster} } }]
users: [{ name: agent, user: { token: t } }]
`;

it('refuses a kubeconfig whose cluster is behind a proxy, instead of going past it -> CONFIG_INVALID', async () => {
  await using folder = await temporaryDirectory('kubeconfig');
  const file = join(folder.path, 'config');
  const open = async (cluster: string) => {
    await writeFile(file, kubeconfig(cluster), { mode: 0o600 });
    return openClusterAccess({ kubeconfig: file, context: '' });
  };
  for (const url of ['http://proxy.example:3128', 'https://proxy.example', 'socks5://127.0.0.1:1080'])
    await expect(open(`, proxy-url: '${url}'`)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('has a proxy-url for the cluster "line-1"'),
    });
  expect((await open(`, proxy-url: ''`)).server).toBe('https://10.0.0.1:6443');
  expect((await open('')).server).toBe('https://10.0.0.1:6443');
});
