import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { hexOf, digestOf } from '#bundles/digest';
import { folderProvider } from '../../../agent/images/folder/folder-provider.ts';
import { openImageFolder, readAnswers } from '../../../agent/images/folder/image-folder.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../../agent/images/image-fixture.ts';
import { signedEvidence } from '../../agent/images/folder/signed-evidence.ts';
import { newFleet, type SignedFleet } from '../../harness/fleets/signed-fleet.ts';
import { type Containerd, startContainerd } from '../../harness/hosts/containerd.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const never = new AbortController().signal;

describeWith(
  ['containerd', 'containerd2'],
  'image loaders of two nodes with one folder, on two versions of containerd',
  ({ containerd, containerd2 }) => {
    let folder: TemporaryDirectory;
    let fleet: SignedFleet;
    let nodes: readonly { readonly name: string; readonly containerd: Containerd }[] = [];
    const blobs: Blobs = new Map();
    const stops = new Set<() => void>();

    beforeAll(async () => {
      folder = await temporaryDirectory('image-loaders');
      fleet = await newFleet('halden');
      nodes = [
        { name: 'node-1', containerd: await startContainerd(containerd) },
        { name: 'node-2', containerd: await startContainerd(containerd2) },
      ];
    });
    afterEach(() => {
      for (const stop of stops) stop();
      stops.clear();
    });
    afterAll(async () => {
      for (const node of nodes) await node.containerd[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    /** The command as the pod runs it. */
    const start = (
      { name, containerd: own }: (typeof nodes)[number],
      { once: isOnce = false, root = hexOf(digestOf(fleet.roots[0] ?? '')) } = {},
    ) => {
      const words = ['load-images', `--folder=${folder.path}`, `--node=${name}`, `--root-sha256=${root}`];
      const argv = [
        programFile('agent'),
        ...words,
        `--containerd=${own.socket}`,
        ...(isOnce ? ['--once'] : []),
      ];
      const child = spawn(process.execPath, argv, { env: own.env, stdio: ['ignore', 'pipe', 'pipe'] });
      stops.add(() => child.kill('SIGKILL'));
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          said += chunk.toString('utf8');
        });
      return { child, ended: once(child, 'exit'), said: () => said };
    };
    const imageOf = async (name: string, bytes: number) =>
      closureEntry(
        putImage(blobs, { layers: [await putLayer(blobs, { app: Buffer.alloc(bytes, name) })] }),
        `edge.example/${name}`,
      );
    const names = async (own: Containerd) =>
      (await own.ctr('images', 'ls', '-q')).split('\n').filter(Boolean);

    it('load what the agent hands over, and end on SIGTERM', async () => {
      const loaders = nodes.map((node) => start(node));
      const image = await imageOf('web', 1000);
      const agent = folderProvider(folder.path);
      await agent.prove?.(await signedEvidence(fleet, blobs, [image]), never);
      expect(await agent.bring(image, sourceOf(blobs), never), loaders[0]?.said()).toBe('brought');
      // The first to answer may have been alone: an agent waits for nodes that it knows.
      await expect
        .poll(
          async () => (await readAnswers(openImageFolder(folder.path))).map(({ images }) => images.length),
          {
            timeout: 30_000,
          },
        )
        .toEqual([1, 1]);
      for (const { containerd: own } of nodes)
        expect(await names(own)).toEqual(expect.arrayContaining([...(image.names ?? [])]));
      for (const loader of loaders) {
        loader.child.kill('SIGTERM');
        const [code] = (await loader.ended) as [number];
        expect(code, loader.said()).toBe(0);
        expect(loader.said()).toContain('"msg":"loaded"');
      }
    });

    it('continue after kills at any moment, without a name of half an image', async () => {
      const image = await imageOf('large', 24 << 20);
      const agent = folderProvider(folder.path, { any: 100, others: 100, silence: 100, poll: 20 });
      await agent.prove?.(await signedEvidence(fleet, blobs, [image]), never);
      // Handed over; no loader runs.
      await expect(agent.bring(image, sourceOf(blobs), never)).rejects.toMatchObject({
        code: 'CONTAINERD_UNREACHABLE',
      });
      const [node] = nodes;
      if (!node) throw new Error('there is no node');
      for (const ms of [300, 600, 900, 1200]) {
        const loader = start(node);
        const timer = setTimeout(() => loader.child.kill('SIGKILL'), ms);
        await loader.ended;
        clearTimeout(timer);
        // A name means that containerd has all of it.
        if ((await names(node.containerd)).includes(image.names?.[0] ?? ''))
          expect(await node.containerd.ctr('images', 'check')).not.toContain('incomplete');
      }
      for (const one of nodes) {
        const loader = start(one, { once: true });
        const [code] = (await loader.ended) as [number];
        expect(code, loader.said()).toBe(0);
        expect(await names(one.containerd)).toEqual(expect.arrayContaining([...(image.names ?? [])]));
        expect(await one.containerd.ctr('images', 'check')).not.toContain('incomplete');
      }
    });

    it.each([
      [{ name: 'Node_1' }, {}, /--node "Node_1" is not the name of a node/],
      [{}, { root: '9f2c' }, /--root-sha256 "9f2c" is not a SHA-256/],
    ])('are refused with %j %j', async (node, options, message) => {
      const [first] = nodes;
      if (!first) throw new Error('there is no node');
      const loader = start({ ...first, ...node }, { once: true, ...options });
      const [code] = (await loader.ended) as [number];
      expect(code).toBe(2);
      expect(loader.said()).toMatch(message);
    });
  },
);
