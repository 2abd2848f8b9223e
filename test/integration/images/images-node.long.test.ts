import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import {
  type Blobs,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
} from '../../agent/images/image-fixture.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type BusyboxImage, makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import { type KubernetesNode, startNode, WORK_TREE } from '../../harness/kubernetes/node.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const SOCKET = '/run/containerd/containerd.sock';

describeWith(
  ['nodeBase', 'kube', 'busybox'],
  'an image from a medium, on a node without network',
  (paths) => {
    let node: KubernetesNode;
    let stick: TemporaryDirectory;
    let image: BusyboxImage;

    beforeAll(async () => {
      stick = await temporaryDirectory('stick');
      image = await makeBusyboxImage(paths.busybox, join(stick.path, 'images'), {
        name: 'registry.nowhere.example/team/web:1',
        page: 'came on a stick\n',
      });
      node = await startNode('images-node', {
        ...paths,
        workTree: true,
        binds: [{ from: stick.path, to: '/media/usb', readOnly: true }],
      });
    });
    afterAll(async () => {
      await node?.[Symbol.asyncDispose]();
      await stick?.[Symbol.asyncDispose]();
    });

    const bring = async (pinned = image.pinned, mediaType = OCI_MANIFEST): Promise<string> => {
      const program = `${WORK_TREE}/test/agent/images/bring-from-layout.ts`;
      const argv = ['node', program, '/media/usb/images', SOCKET, pinned, mediaType];
      const { code, stdout, stderr } = await node.exec(argv);
      expect(stderr, stdout).toBe('');
      expect(code).toBe(0);
      return stdout.trim();
    };

    /** Starts a pod of this image; it must be ready without a pull. */
    const runPod = async (name: string, pinned: string): Promise<void> => {
      const pod = [
        'apiVersion: v1',
        'kind: Pod',
        `metadata: { name: ${name} }`,
        'spec:',
        '  containers:',
        `    - { name: main, image: "${pinned}" }`,
        '',
      ].join('\n');
      const applied = await node.kubectl(['apply', '-f', '-'], { input: pod });
      expect(applied.stderr).toBe('');
      const ready = await node.kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);
      expect(ready.code, ready.stderr + (await node.kubectl(['describe', 'pod', name])).stdout).toBe(0);
      const events = await node.kubectl(['get', 'events', '--output=jsonpath={.items[*].reason}']);
      expect(events.stdout).not.toMatch(/Pulling|BackOff|Failed/);
    };

    it('is found by the name in the manifest, without a pull', async () => {
      expect(await bring()).toBe('brought');
      await runPod('web', image.pinned);
      const got = await node.kubectl(['exec', 'web', '--', 'wget', '-q', '-O-', 'http://127.0.0.1:8080/']);
      expect(got.stdout).toBe('came on a stick\n');
    });

    it('runs from an index of several platforms', async () => {
      const layout = await openLayout(image.layout);
      const blobs: Blobs = new Map();
      const arm = putImage(blobs, {
        layers: [await putLayer(blobs, { app: 'for arm' })],
        architecture: process.arch === 'arm64' ? 'amd64' : 'arm64',
      });
      const own = {
        mediaType: OCI_MANIFEST,
        digest: image.digest,
        size: (await layout.blobs.size(image.digest)) ?? 0,
        platform: { os: 'linux', architecture: process.arch === 'arm64' ? 'arm64' : 'amd64' },
      };
      const index = putIndex(blobs, [arm, putAttestation(blobs, arm), own]);
      for (const [digest, bytes] of blobs) await layout.blobs.write(digest, bytes.byteLength, bytes);
      const pinned = `registry.nowhere.example:5000/team/multi@${index.digest}`;
      expect(await bring(pinned, OCI_INDEX)).toBe('brought');
      await runPod('multi', pinned);
    });

    it('stays after a power cut, and a second import does nothing', async () => {
      await node.crash();
      await node.start();
      expect(await bring()).toBe('there');
      await expect
        .poll(async () => (await node.kubectl(['exec', 'web', '--', 'cat', '/www/index.html'])).stdout, {
          timeout: 60_000,
          interval: 1000,
        })
        .toBe('came on a stick\n');
    });
  },
);
