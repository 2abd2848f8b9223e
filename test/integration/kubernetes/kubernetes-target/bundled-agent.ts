import { dirname, delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { type Blobs, closureEntry, putImage, putLayer } from '../../../agent/images/image-fixture.ts';
import { packKubernetesBundle } from '../../../harness/fleets/kubernetes-bundle.ts';
import { createTestFleet } from '../../../harness/fleets/signed-medium.ts';
import { startContainerd } from '../../../harness/hosts/containerd.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';
import { startRegistry } from '../../../harness/neighbours/registry.ts';
import { copyBuiltAgent } from '../../../harness/run/built-programs.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { filesLoaded, KUBE_CONFIG, startMachine, timesEvaluated } from '../../agent/bundled-agent/machine.ts';

/** A test of the agent as users install it. */
export const bundledAgentOnCluster = (cluster: () => Cluster): void =>
  describeWith(['containerd', 'dockerRegistry'], 'the agent as one file on a cluster', (paths) => {
    it('applies a release, with images for the containerd and the registry of the site', async () => {
      await using built = await temporaryDirectory('bundled');
      const program = await copyBuiltAgent(join(built.path, 'agent'));
      const fleet = await createTestFleet();
      await using machine = await startMachine(program, fleet);
      const { agent, folder } = machine;
      await using containerd = await startContainerd(paths.containerd);
      await using registry = await startRegistry(paths.dockerRegistry);
      const env = {
        FLEET_AGENT_TARGETS: 'kubernetes',
        FLEET_AGENT_KUBECONFIG: cluster().kubeconfig,
        FLEET_AGENT_CONTAINERD: containerd.socket,
        FLEET_AGENT_IMAGE_REGISTRY: `oci://${registry.host}/mirror`,
        PATH: [dirname(paths.containerd), process.env['PATH']].join(delimiter),
      };
      const images: Blobs = new Map();
      const image = putImage(images, { layers: [await putLayer(images, { app: '#!/bin/sh\n' })] });
      const closure = [closureEntry(image, 'edge.example/line')];
      const manifests = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bundled-agent' } },
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'line', namespace: 'bundled-agent' },
          data: { speed: '7' },
        },
      ];
      const yaml = manifests.map((object) => JSON.stringify(object)).join('\n---\n');
      succeed(await machine.enroll());
      const medium = await machine.medium(
        1,
        packKubernetesBundle(fleet, { line: yaml }, { closure, images }),
      );
      const imported = await agent(['import', medium], env);
      expect(imported).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Brought 1 container image.'),
      });
      // A busy machine takes long enough for lines of progress.
      expect(imported.stderr.replaceAll(/^\{"phase":"bringing images",.*\}\n/gm, '')).toBe('');
      const speed = [
        'get',
        'configmap',
        'line',
        '--namespace=bundled-agent',
        '--output=jsonpath={.data.speed}',
      ];
      expect((await cluster().kubectl(speed)).stdout).toBe('7');
      expect(await containerd.ctr('images', 'ls', '-q')).toContain(`edge.example/line@${image.digest}`);
      const tag = `${registry.url}/v2/mirror/edge.example/line/manifests/i-${hexOf(image.digest)}`;
      expect((await fetch(tag, { method: 'HEAD', headers: { accept: OCI_MANIFEST } })).status).toBe(200);

      const patch = ['--type=merge', '--patch={"data":{"speed":"9"}}'];
      await cluster().kubectl(['patch', 'configmap', 'line', '--namespace=bundled-agent', ...patch]);
      const coverage = join(folder, 'coverage');
      expect(await agent(['run', '--once'], { ...env, NODE_V8_COVERAGE: coverage })).toMatchObject({
        code: 0,
        stderr: '',
      });
      expect((await cluster().kubectl(speed)).stdout).toBe('7');
      expect(await timesEvaluated(program, coverage, KUBE_CONFIG)).toBe(1);
      expect(await filesLoaded(coverage)).not.toContain('cel.cjs');

      const objectRules = [{ kinds: ['ConfigMap'], health: { current: "data.speed == '7'" } }];
      const next = await machine.medium(2, packKubernetesBundle(fleet, { line: yaml }, { objectRules }));
      const judged = join(folder, 'judged');
      expect(await agent(['import', next], { ...env, NODE_V8_COVERAGE: judged })).toMatchObject({ code: 0 });
      expect(await filesLoaded(judged)).toContain('cel.cjs');
      await cluster().kubectl(['delete', 'namespace', 'bundled-agent', '--wait=false']);
    });
  });
