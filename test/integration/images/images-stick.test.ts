import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findReference, openLayout, withReference, writeLayoutIndex } from '#bundles/formats/layout/layout';
import { parseMedium } from '#bundles/formats/medium/medium';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import {
  type Blobs,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
} from '../../agent/images/image-fixture.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import { type KubernetesNode, NODE_KUBECONFIG, startNode } from '../../harness/kubernetes/node.ts';
import { agentOnHost } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { succeed } from '../../harness/run/run-command.ts';

const LINE_CONTROL = 'registry.halden.example/line-control:5.0.4';
const [OWN, OTHER] = process.arch === 'arm64' ? ['arm64', 'amd64'] : ['amd64', 'arm64'];
const ENROLL =
  'enroll /media/stick --fleet halden --site plant-7 --name line-1 --channel prod/factory-line --root-sha256'.split(
    ' ',
  );
const agentHere = agentOnHost();
const CONFIG = [
  'targets: [kubernetes]',
  `kubeconfig: ${NODE_KUBECONFIG}`,
  'containerd: /run/containerd/containerd.sock',
  'healthTimeout: 60s',
  '',
].join('\n');

describeWith(['nodeBase', 'kube', 'busybox'], 'a cluster that nothing reaches but a stick', (paths) => {
  let office: Office;
  let stick: TemporaryDirectory;
  let folder: TemporaryDirectory;
  let node: KubernetesNode;

  beforeAll(async () => {
    folder = await temporaryDirectory('office');
    stick = await temporaryDirectory('stick');
    office = await openOffice(folder.path);
    for (const image of EXAMPLE_IMAGES) await makeImage(image, 'one\n');
    succeed(await office.scheduler('images', 'lock', '--images', 'images', '--update'));
    node = await startNode('images-stick', {
      ...paths,
      binds: [agentHere.bind, { from: stick.path, to: '/media/stick' }],
    });
    succeed(await shell('mkdir -p /etc/fleet-agent && cat > /etc/fleet-agent/agent.yaml', CONFIG));
  });
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    await stick?.[Symbol.asyncDispose]();
  });

  /** An index of two platforms, one of which runs here, with what builders hang beside it. */
  const makeImage = async (name: string, page: string): Promise<void> => {
    const directory = join(folder.path, 'images');
    const image = await makeBusyboxImage(paths.busybox, directory, { name, page });
    const layout = await openLayout(directory);
    const blobs: Blobs = new Map();
    const other = putImage(blobs, {
      layers: [await putLayer(blobs, { app: `other ${name}` })],
      architecture: OTHER,
    });
    const { size = 0 } = findReference(layout, name) ?? {};
    const own = {
      mediaType: other.mediaType,
      digest: image.digest,
      size,
      platform: { os: 'linux', architecture: OWN },
    };
    const index = putIndex(blobs, [own, putAttestation(blobs, own), other]);
    for (const [digest, bytes] of blobs) await layout.blobs.write(digest, bytes.byteLength, bytes);
    await writeLayoutIndex(layout, withReference(layout.manifests, name, index));
  };
  const shell = (script: string, input?: string) =>
    node.exec(['/bin/sh', '-c', script], input === undefined ? {} : { input });
  const agent = (...words: readonly string[]) => node.exec(['node', agentHere.file, ...words]);
  const pageOf = async (): Promise<string> => {
    const pod = '{.items[0].metadata.name} {.items[0].metadata.namespace}';
    const selector = [
      '--all-namespaces',
      '--selector=app=line-control',
      '--field-selector=status.phase=Running',
    ];
    const found = await node.kubectl(['get', 'pods', ...selector, `--output=jsonpath=${pod}`]);
    const [name = '', namespace = ''] = found.stdout.split(' ');
    return (await node.kubectl(['exec', '--namespace', namespace, name, '--', 'cat', '/www/index.html']))
      .stdout;
  };

  it('runs the pods of a release from the images that came with it', async () => {
    succeed(await agent(...ENROLL, office.rootSha256));
    succeed(await office.scheduler('sites', 'enroll', stick.path, ...(await acceptRequests(stick.path))));
    await office.build();
    await office.fill(stick.path, 'plant-7');
    const imported = await agent('import', '/media/stick');
    expect(imported.code, imported.stdout + imported.stderr).toBe(0);
    expect(imported.stdout).toMatch(/Brought \d+ container images?\./);
    expect(await pageOf()).toBe('one\n');
    const events = await node.kubectl(['get', 'events', '-A', '--output=jsonpath={.items[*].reason}']);
    expect(events.stdout).not.toMatch(/Pulling|BackOff/);
    // The layers are with containerd, and nowhere a second time.
    const { stdout } = await shell('du -sk /var/lib/fleet-agent | cut -f1');
    expect(Number(stdout)).toBeLessThan(1024);
  });

  it('takes a stick that leaves out the images it has', async () => {
    succeed(await agent('reports', 'export', '/media/stick'));
    await makeImage(LINE_CONTROL, 'two\n');
    succeed(await office.scheduler('images', 'lock', LINE_CONTROL, '--images', 'images', '--update'));
    await office.build();
    await office.fill(stick.path, 'plant-7', '--for', stick.path);
    const medium = parseMedium(await readFile(join(stick.path, 'fleet/medium.json')));
    expect(medium.bundles.flatMap(({ assumed }) => assumed).length).toBeGreaterThan(2);
    const imported = await agent('import', '/media/stick');
    expect(imported.code, imported.stdout + imported.stderr).toBe(0);
    expect(imported.stdout).toContain('Brought 1 container image.');
    await expect.poll(pageOf, { timeout: 120_000, interval: 1000 }).toBe('two\n');
  });

  it('refuses such a stick when the images are gone, and asks for them', async () => {
    succeed(await agent('reports', 'export', '/media/stick'));
    await makeImage(LINE_CONTROL, 'three\n');
    succeed(await office.scheduler('images', 'lock', LINE_CONTROL, '--images', 'images', '--update'));
    await office.build();
    await office.fill(stick.path, 'plant-7', '--for', stick.path);
    // What the kubelet does to images that nothing runs from when the disk is full.
    const names = (await node.ctr(['images', 'ls', '-q'])).stdout
      .split('\n')
      .filter((it) => !it.includes('pause'));
    succeed(await node.ctr(['images', 'rm', '--sync', ...names.filter(Boolean)]));
    const refused = await agent('import', '/media/stick');
    expect(refused.stderr).toContain('MISSING_BASE');
    expect(refused.code).toBe(5);
    await office.fill(stick.path, 'plant-7');
    succeed(await agent('import', '/media/stick'));
    await expect.poll(pageOf, { timeout: 120_000, interval: 1000 }).toBe('three\n');
  });

  // images-containerd.test.ts kills an import of an image in every run.
  if (LONG)
    it('is killed again and again while it imports, and the last import finishes', {
      timeout: 300_000,
    }, async () => {
      for (const image of EXAMPLE_IMAGES) await makeImage(image, 'four\n');
      succeed(await office.scheduler('images', 'lock', '--images', 'images', '--update'));
      await office.build();
      await office.fill(stick.path, 'plant-7');
      for (const seconds of [0.4, 0.6, 0.8, 1, 1.4, 2]) {
        await node.exec([
          'timeout',
          '-s',
          'KILL',
          String(seconds),
          'node',
          agentHere.file,
          'import',
          '/media/stick',
        ]);
      }
      const imported = await agent('import', '/media/stick');
      expect(imported.code, imported.stdout + imported.stderr).toBe(0);
      await expect.poll(pageOf, { timeout: 120_000, interval: 1000 }).toBe('four\n');
      const check = await node.ctr(['images', 'check']);
      expect(check.stdout).not.toContain('incomplete');
    });
});
