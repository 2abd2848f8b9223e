import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chooseCluster, whyNoPods } from '../../harness/kubernetes/choose-cluster.ts';
import { formatKubeconfig, readServer } from '../../harness/kubernetes/kubeconfig.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describe('chooseCluster', () => {
  test('prefers the given cluster', async () => {
    await using folder = await temporaryDirectory();
    const kubeconfig = join(folder.path, 'config');
    const text = formatKubeconfig({ server: 'https://10.0.0.1:6443', token: 'x', ca: '/ca' });
    await writeFile(kubeconfig, text);
    const env = { FLEET_TEST_KUBECONFIG: kubeconfig, FLEET_K3D: process.execPath };
    expect(chooseCluster(env)).toEqual({ how: 'given', kubeconfig });
    expect(readServer(text)).toBe('https://10.0.0.1:6443');
    expect(chooseCluster({ FLEET_TEST_KUBECONFIG: '/nonexistent' })).toMatchObject({ how: 'none' });
  });

  test('has pods on a given cluster only with a command that brings images', async () => {
    await using folder = await temporaryDirectory();
    const kubeconfig = join(folder.path, 'config');
    await writeFile(kubeconfig, formatKubeconfig({ server: 'https://10.0.0.1:6443', token: 'x', ca: '/ca' }));
    const env = { FLEET_TEST_KUBECONFIG: kubeconfig, FLEET_BUSYBOX: process.execPath };
    expect(whyNoPods(chooseCluster(env), env)).toContain('no FLEET_TEST_BRING_IMAGES');
    const bringing = { ...env, FLEET_TEST_BRING_IMAGES: 'kind load image-archive "$1"' };
    expect(chooseCluster(bringing)).toMatchObject({ bringImages: bringing.FLEET_TEST_BRING_IMAGES });
    expect(whyNoPods(chooseCluster(bringing), bringing)).toBeUndefined();
    const bare = { ...bringing, FLEET_BUSYBOX: '/nonexistent' };
    expect(whyNoPods(chooseCluster(bare), bare)).toContain('/nonexistent');
  });

  test('prefers k3d to a test environment, and that to its own cluster', async () => {
    await using assets = await temporaryDirectory();
    const [program, kwok] = [process.execPath, assets.path];
    const own = { FLEET_K3D: '/nonexistent', FLEET_KUBE: program, FLEET_KWOK: kwok };
    expect(chooseCluster({ ...own, FLEET_K3D: program })).toEqual({ how: 'k3d', k3d: program });
    expect(chooseCluster(own)).toEqual({ how: 'own', kube: program, kwok });
    const env = { ...own, KUBEBUILDER_ASSETS: assets.path };
    expect(chooseCluster(env)).toMatchObject({ how: 'none', reason: expect.stringContaining('has no etcd') });
    for (const name of ['etcd', 'kube-apiserver']) await writeFile(join(assets.path, name), '');
    expect(chooseCluster(env)).toEqual({ how: 'assets', folder: assets.path, kube: program, kwok });
  });

  test('names the missing part when there is no cluster', () => {
    const env = { FLEET_K3D: '/nonexistent', FLEET_KUBE: '/nonexistent', FLEET_KWOK: '/nonexistent' };
    const reason = expect.stringMatching(/^Kubernetes: FLEET_KUBE names .* kwok: FLEET_KWOK names /);
    expect(chooseCluster(env)).toEqual({ how: 'none', reason });
  });
});
