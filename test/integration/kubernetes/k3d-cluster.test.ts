import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startK3dCluster } from '../../harness/k3d/k3d-cluster.ts';
import {
  clusterNameOf,
  createWords,
  importWords,
  kubeconfigWords,
  NODE_IMAGE,
} from '../../harness/k3d/k3d-words.ts';
import { formatKubeconfig } from '../../harness/kubernetes/kubeconfig.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describeWith(['k3d'], 'a real k3d', ({ k3d }) => {
  test('creates a cluster of containers', { timeout: 400_000 }, async () => {
    await using cluster = await startK3dCluster({ k3d });
    const nodes = await cluster.kubectl(['get', 'nodes', '--no-headers']);
    expect(nodes.stdout).toContain(' Ready ');
    expect((await cluster.request('GET', '/version')).status).toBe(200);
  });
});

describe('the arguments of k3d', () => {
  test('contain a valid name of the cluster, made from the folder of the run', () => {
    const name = clusterNameOf('/home/somebody/.cache/fleet-ferry/k3d-clusters/hosts/k3d-0a1b2c3d');
    expect(name).toBe('fleet-ferry-0a1b2c3d');
    expect(name.length).toBeLessThanOrEqual(32);
  });

  test('create one server whose API port is on the loopback only', () => {
    const words = createWords({ name: 'c', port: 17_001 });
    expect(words.slice(0, 3)).toEqual(['cluster', 'create', 'c']);
    expect(words).toContain('--no-lb');
    expect(words).toContain('--api-port=127.0.0.1:17001');
    expect(words).toContain(`--image=${NODE_IMAGE}`);
    expect(createWords({ name: 'c', port: 1, image: 'mirror.example/k3s:1' })).toContain(
      '--image=mirror.example/k3s:1',
    );
  });

  test("do not change the user's kubeconfig", () => {
    expect(createWords({ name: 'c', port: 1 })).toContain('--kubeconfig-update-default=false');
    expect(kubeconfigWords('c', '/run/config')).toContain('--output=/run/config');
  });

  test('import images in the mode whose exit code reports failing nodes', () => {
    expect(importWords('c', '/x/images.tar')).toEqual([
      'image',
      'import',
      '/x/images.tar',
      '--cluster=c',
      '--mode=direct',
    ]);
  });
});

/** Programs that note how they were called and answer as the real ones would. What k3d itself does is not proven here. */
describe('a cluster of k3d', () => {
  let folder: TemporaryDirectory;
  const at = (name: string): string => join(folder.path, name);
  const calls = async (): Promise<readonly string[]> =>
    (await readFile(at('calls'), 'utf8')).trim().split('\n');
  const program = async (name: string, script: string): Promise<string> => {
    await writeFile(at(name), `#!/bin/sh\necho "${name} $*" >> '${at('calls')}'\n${script}\n`);
    await chmod(at(name), 0o755);
    return at(name);
  };
  const cacheBefore = process.env['FLEET_CACHE'];

  beforeEach(async () => {
    folder = await temporaryDirectory('k3d');
    await mkdir(at('cache'));
    process.env['FLEET_CACHE'] = at('cache');
    await writeFile(
      at('given'),
      formatKubeconfig({ server: 'https://127.0.0.1:1', token: 'x', ca: at('given') }),
    );
  });
  afterEach(async () => {
    if (cacheBefore === undefined) delete process.env['FLEET_CACHE'];
    else process.env['FLEET_CACHE'] = cacheBefore;
    await folder[Symbol.asyncDispose]();
  });

  const writesKubeconfig = (): string =>
    `for word; do case $word in --output=*) cp '${at('given')}' "\${word#--output=}";; esac; done`;

  test('is usable when its node is ready, and is deleted at the end', async () => {
    const k3d = await program('k3d', writesKubeconfig());
    // The node comes a moment after the API server.
    const late = `case $* in *nodes*) [ -e '${at('seen')}' ] && echo True; touch '${at('seen')}';; esac`;
    const kubectl = await program('kubectl', late);
    {
      await using cluster = await startK3dCluster({ k3d, kubectl: [kubectl] });
      expect(cluster.server).toBe('https://127.0.0.1:1');
      await cluster.bringImages('/x/images.tar');
    }
    const said = await calls();
    expect(said.filter((line) => line.includes('get nodes'))).toHaveLength(2);
    const [name] = /fleet-ferry-[0-9a-f]{8}/.exec(said[0] ?? '') ?? [];
    expect(said.filter((line) => line.startsWith('k3d')).slice(-2)).toEqual([
      `k3d image import /x/images.tar --cluster=${name} --mode=direct`,
      `k3d cluster delete ${name}`,
    ]);
  });

  test('is deleted when its creation failed, with the reason in the error', async () => {
    const k3d = await program('k3d', `case $2 in create) echo 'no such image' >&2; exit 1;; esac`);
    const kubectl = await program('kubectl', '');
    await expect(startK3dCluster({ k3d, kubectl: [kubectl] })).rejects.toThrow('no such image');
    expect((await calls()).at(-1)).toMatch(/^k3d cluster delete fleet-ferry-/);
  });

  test('of a killed run is deleted by the next run', async () => {
    const left = at('cache/k3d-clusters/hosts/k3d-deadbeef');
    await mkdir(left, { recursive: true });
    await writeFile(join(left, 'owner'), '999999999 1');
    const k3d = await program('k3d', writesKubeconfig());
    const kubectl = await program('kubectl', 'case $* in *nodes*) echo True;; esac');
    await using cluster = await startK3dCluster({ k3d, kubectl: [kubectl] });
    expect((await calls())[0]).toBe('k3d cluster delete fleet-ferry-deadbeef');
    expect(cluster.name).not.toBe('fleet-ferry-deadbeef');
  });
});
