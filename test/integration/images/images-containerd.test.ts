import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import { type Digest, hexOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { writeLayoutIndex } from '#bundles/formats/layout/layout';
import { DOCKER_INDEX } from '#bundles/media-types';
import { containerdProvider } from '../../../agent/images/containerd/containerd-provider.ts';
import { openCtr } from '../../../agent/images/containerd/open-ctr.ts';
import type { ImageProvider } from '../../../agent/model/image-provider.ts';
import {
  type Blobs,
  closureEntry,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
  sourceOf,
} from '../../agent/images/image-fixture.ts';
import { type Containerd, startContainerd } from '../../harness/hosts/containerd.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const never = new AbortController().signal;

describeOnVersions('containerd', [], 'images in a real containerd', ({ containerd: program }) => {
  let containerd: Containerd;
  let provider: ImageProvider;
  let blobs: Blobs;
  let salt = 0;

  beforeAll(async () => {
    containerd = await startContainerd(program);
    provider = containerdProvider(containerd.socket, openCtr(containerd.socket, containerd.env));
  });
  afterAll(() => containerd[Symbol.asyncDispose]());
  beforeEach(() => {
    blobs = new Map();
    salt += 1;
  });

  const names = async () => (await containerd.ctr('images', 'ls', '-q')).split('\n').filter(Boolean);
  const content = async () => (await containerd.ctr('content', 'ls', '-q')).split('\n').filter(Boolean);
  const allBlobs = async (image: ClosureEntry) =>
    (await imageBlobs(sourceOf(blobs), image, never)).map(({ digest }) => digest);
  const big = () => Buffer.alloc(3 << 20, `layer ${salt}`);

  it('are imported under every name of the manifests, and a second time without work', async () => {
    const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: `one ${salt}` })] });
    const image = closureEntry(manifest, 'edge.example/a', 'edge.example:5000/team/b');
    expect(await provider.keeps([image], never)).toEqual(new Set());
    expect(await provider.bring(image, sourceOf(blobs), never)).toBe('brought');
    expect(await names()).toEqual(expect.arrayContaining([...(image.names ?? [])]));
    expect(await provider.keeps([image], never)).toEqual(new Set([image.digest]));
    expect(await provider.bring(image, sourceOf(blobs), never)).toBe('there');
    // What the CRI plugin did with it: it is an image that a pod can run from.
    await expect
      .poll(() => containerd.ctr('images', 'ls', `name==${image.names?.[0]}`))
      .toContain('io.cri-containerd.image=managed');
  });

  it('get their pin again after it was lost, without a byte from the medium', async () => {
    const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: `pinned ${salt}` })] });
    const image = closureEntry(manifest, 'edge.example/pinned');
    await provider.bring(image, sourceOf(blobs), never);
    const [name = ''] = image.names ?? [];
    await containerd.ctr('images', 'label', name, 'io.cri-containerd.pinned=');
    expect(await provider.keeps([image], never)).toEqual(new Set());
    expect(await provider.bring(image, sourceOf(new Map()), never)).toBe('there');
    expect(await provider.keeps([image], never)).toEqual(new Set([image.digest]));
    expect(await containerd.ctr('images', 'ls', `name==${name}`)).toContain(
      'io.cri-containerd.pinned=pinned',
    );
  });

  it('keep every platform and attestation of an index, so that the next delta can leave them out', async () => {
    const both = [];
    for (const architecture of ['amd64', 'arm64']) {
      const layer = await putLayer(blobs, { app: `${architecture} ${salt}` });
      const manifest = putImage(blobs, { layers: [layer], architecture });
      both.push(manifest, putAttestation(blobs, manifest));
    }
    const image = closureEntry(putIndex(blobs, [putIndex(blobs, both)], DOCKER_INDEX), 'edge.example/multi');
    await provider.bring(image, sourceOf(blobs), never);
    const parts = await allBlobs(image);
    expect(parts.length).toBe(13);
    expect(await provider.has(parts, [image], never)).toEqual(new Set(parts));
    // Nothing of it is garbage to containerd, which collects before this returns.
    await containerd.ctr('images', 'tag', image.names?.[0] ?? '', 'edge.example/other:1');
    await containerd.ctr('images', 'rm', '--sync', 'edge.example/other:1');
    expect(await content()).toEqual(expect.arrayContaining(parts));
  });

  it('are imported without blobs that are there: a shared layer, and one that a delta leaves out', async () => {
    const shared = await putLayer(blobs, { base: `base ${salt}` });
    const first = closureEntry(putImage(blobs, { layers: [shared] }), 'edge.example/first');
    await provider.bring(first, sourceOf(blobs), never);
    const own = await putLayer(blobs, { app: `second ${salt}` });
    const second = closureEntry(putImage(blobs, { layers: [shared, own] }), 'edge.example/second');
    blobs.delete(shared.digest);
    expect(await provider.has([shared.digest], [second], never)).toEqual(new Set([shared.digest]));
    expect(await provider.bring(second, sourceOf(blobs), never)).toBe('brought');
    const third = closureEntry(putImage(blobs, { layers: [own, shared] }), 'edge.example/third');
    await provider.bring(third, sourceOf(blobs), never);
    expect((await provider.keeps([first, second, third], never)).size).toBe(3);
  });

  it('have no name after a damaged blob', async () => {
    const layer = await putLayer(blobs, { app: big() });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/damaged');
    const good = blobs.get(layer.digest) as Buffer;
    const bad = Buffer.from(good);
    bad[1 << 20] = (bad[1 << 20] ?? 0) ^ 1;
    blobs.set(layer.digest, bad);
    const error = await provider.bring(image, sourceOf(blobs), never).catch((it: unknown) => it);
    expect(isFleetError(error, 'DIGEST_MISMATCH')).toBe(true);
    expect(await names()).not.toEqual(expect.arrayContaining([...(image.names ?? [])]));
    expect(await content()).not.toContain(layer.digest);
    // With a good copy it is mended, whatever containerd had kept of the bad one.
    blobs.set(layer.digest, good);
    expect(await provider.bring(image, sourceOf(blobs), never)).toBe('brought');
    expect(await content()).toContain(layer.digest);
  });

  it('have no name before the last byte, and are completed by the next import', async () => {
    const layer = await putLayer(blobs, { app: big() });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/cut');
    const whole = sourceOf(blobs);
    const stop = new AbortController();
    const cut: BlobSource = {
      ...whole,
      open: async (digest: Digest) => {
        const bytes = await whole.open(digest);
        return digest === layer.digest ? stopAfter(bytes, 20, stop) : bytes;
      },
    };
    await expect(provider.bring(image, cut, stop.signal)).rejects.toThrow();
    expect(await names()).not.toEqual(expect.arrayContaining([...(image.names ?? [])]));
    expect(await provider.bring(image, whole, never)).toBe('brought');
    expect((await provider.keeps([image], never)).size).toBe(1);
  });

  it('are completed by the next import after a kill', async () => {
    await using folder = await temporaryDirectory('stick');
    const layer = await putLayer(blobs, { app: Buffer.alloc(8 << 20, `kill ${salt}`) });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/killed');
    const stick = openBlobDirectory(folder.path);
    for (const [digest, bytes] of blobs) await stick.write(digest, bytes.byteLength, bytes);
    await writeLayoutIndex({ directory: folder.path, blobs: stick, manifests: [] }, []);
    const [name = ''] = image.names ?? [];
    const program = testProgramFile('test/agent/images/bring-from-layout.ts');
    const argv = [program, folder.path, containerd.socket, name, image.mediaType];
    const child = spawn(process.execPath, [...argv, String(8 << 20)], { env: containerd.env });
    const ended = once(child, 'exit');
    await expect.poll(() => containerd.ctr('content', 'active')).toContain(hexOf(layer.digest));
    child.kill('SIGKILL');
    await ended;
    expect(await names()).not.toContain(name);
    expect(await content()).not.toContain(layer.digest);
    const { stdout } = await runOrFail([process.execPath, ...argv], { env: containerd.env });
    expect(stdout.trim()).toBe('brought');
    expect((await provider.keeps([image], never)).size).toBe(1);
  });

  it('do not count as kept while one of their blobs is missing', async () => {
    const layer = await putLayer(blobs, { app: `lost ${salt}` });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/lost');
    blobs.delete(layer.digest);
    const error = await provider.bring(image, sourceOf(blobs), never).catch((it: unknown) => it);
    expect(isFleetError(error, 'MISSING_BLOB')).toBe(true);
    expect(await provider.keeps([image], never)).toEqual(new Set());
  });

  it('lose their pin when no bundle needs them, and stay for the kubelet to collect', async () => {
    const old = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: `old ${salt}` })] }),
      'edge.example/old',
    );
    const current = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: `new ${salt}` })] }),
      'edge.example/new',
    );
    for (const image of [old, current]) await provider.bring(image, sourceOf(blobs), never);
    const labels = (image: ClosureEntry) => containerd.ctr('images', 'ls', `name==${image.names?.[0]}`);
    expect(await labels(old)).toContain('io.cri-containerd.pinned=pinned');
    expect(await provider.letGo([current], never)).toContain(old.names?.[0]);
    expect(await labels(old)).toContain('edge.example/old');
    expect(await labels(old)).not.toContain('pinned');
    expect(await labels(current)).toContain('io.cri-containerd.pinned=pinned');
    // Wanted again, it costs nothing to take it up.
    expect(await provider.bring(old, sourceOf(new Map()), never)).toBe('there');
    expect(await labels(old)).toContain('io.cri-containerd.pinned=pinned');
  });

  it('have a known folder on the disk', async () => {
    expect(await provider.directory(never)).toContain(containerd.root);
  });

  it('fail with different errors for a missing ctr and a containerd that does not answer', async () => {
    const image = closureEntry(putImage(blobs, { layers: [] }), 'edge.example/none');
    const codeOf = (of: ImageProvider) =>
      of.keeps([image], never).then(
        () => 'none',
        (error: unknown) => isFleetError(error) && error.code,
      );
    expect(await codeOf(containerdProvider('/x', openCtr('/x', { PATH: '/nonexistent' })))).toBe(
      'TOOL_MISSING',
    );
    const nowhere = `${containerd.socket}.none`;
    expect(await codeOf(containerdProvider(nowhere, openCtr(nowhere, containerd.env)))).toBe(
      'CONTAINERD_UNREACHABLE',
    );
  });
});

describeWith(['containerd2'], 'images in a containerd 2', ({ containerd2: program }) => {
  it('are kept, and a stopped containerd is unreachable', async () => {
    const blobs: Blobs = new Map();
    const image = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: 'a' })] }),
      'edge.example/a',
    );
    const containerd = await startContainerd(program);
    const provider = containerdProvider(containerd.socket, openCtr(containerd.socket, containerd.env));
    try {
      expect(await provider.bring(image, sourceOf(blobs), never)).toBe('brought');
      expect(await provider.keeps([image], never)).toEqual(new Set([image.digest]));
    } finally {
      await containerd[Symbol.asyncDispose]();
    }
    await expect(provider.keeps([image], never)).rejects.toMatchObject({ code: 'CONTAINERD_UNREACHABLE' });
    await expect(provider.bring(image, sourceOf(blobs), never)).rejects.toMatchObject({
      code: 'CONTAINERD_UNREACHABLE',
    });
  });
});

async function* stopAfter(
  bytes: AsyncIterable<Uint8Array>,
  count: number,
  stop: AbortController,
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of bytes) {
    seen += 1;
    if (seen > count) {
      stop.abort();
      // What a pulled stick does: nothing more comes.
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    yield chunk;
  }
}
