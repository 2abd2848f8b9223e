import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import { isFleetError } from '#bundles/errors';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { Registry as Client } from '#bundles/transport/registry/registry';
import type { ImageProvider } from '../../../agent/model/image-provider.ts';
import { registryProvider } from '../../../agent/images/registry/registry-provider.ts';
import {
  type Blobs,
  closureEntry,
  putAttestation,
  putEmpty,
  putImage,
  putIndex,
  putLayer,
  sourceOf,
} from '../../agent/images/image-fixture.ts';
import { startContainerd } from '../../harness/hosts/containerd.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const never = new AbortController().signal;

describeWith(['dockerRegistry', 'containerd'], 'images in the registry of a site', (paths) => {
  let registry: Registry;
  let client: Client;
  let provider: ImageProvider;
  let blobs: Blobs;
  let salt = 0;

  beforeAll(async () => {
    registry = await startRegistry(paths.dockerRegistry);
  });
  afterAll(() => registry[Symbol.asyncDispose]());
  beforeEach(() => {
    client = openRegistry({ host: registry.host, prefix: 'mirror' }, { plainHttp: [], env: {} });
    provider = registryProvider(client);
    blobs = new Map();
    salt += 1;
  });
  afterEach(() => client[Symbol.asyncDispose]());

  const layer = (text: string) => putLayer(blobs, { app: `${text} ${salt}` });

  it('are pushed to a path for each of their names, and a second time without work', async () => {
    const both = [];
    for (const architecture of ['amd64', 'arm64']) {
      const manifest = putImage(blobs, { layers: [await layer(architecture)], architecture });
      both.push(manifest, putAttestation(blobs, manifest));
    }
    const index = putIndex(blobs, [...both, putEmpty(blobs)]);
    const image = closureEntry(index, 'edge.example/team/a', 'edge.example:5000/b');
    expect(await provider.keeps([image], never)).toEqual(new Set());
    expect(await provider.bring(image, sourceOf(blobs), never)).toBe('brought');
    expect(await provider.keeps([image], never)).toEqual(new Set([image.digest]));
    expect(await provider.bring(image, sourceOf(new Map()), never)).toBe('there');
    for (const path of ['edge.example/team/a', 'edge.example_5000/b']) {
      const repository = client.repository(path);
      expect(await repository.tags()).toEqual([`i-${index.digest.slice(7)}`]);
      for (const { digest } of await imageBlobs(sourceOf(blobs), image, never))
        expect(await repository.blobs.size(digest)).toBe(blobs.get(digest)?.byteLength);
    }
  });

  it('are completed with blobs from another repository when a delta leaves them out', async () => {
    const base = await layer('base');
    const first = closureEntry(putImage(blobs, { layers: [base] }), 'edge.example/first');
    await provider.bring(first, sourceOf(blobs), never);
    const second = closureEntry(
      putImage(blobs, { layers: [base, await layer('own')] }),
      'edge.example/second',
    );
    blobs.delete(base.digest);
    expect(await provider.has([base.digest], [second], never)).toEqual(new Set());
    expect(await provider.has([base.digest], [first, second], never)).toEqual(new Set([base.digest]));
    expect(await provider.bring(second, sourceOf(blobs), never)).toBe('brought');
    expect(await client.repository('edge.example/second').blobs.size(base.digest)).toBe(base.size);
  });

  it('are completed with platforms of an index from another repository when a delta leaves them out', async () => {
    const arm = putImage(blobs, { layers: [await layer('arm')], architecture: 'arm64' });
    const first = closureEntry(putIndex(blobs, [arm]), 'edge.example/platforms/one');
    await provider.bring(first, sourceOf(blobs), never);
    const parts = await imageBlobs(sourceOf(blobs), first, never);
    const amd = putImage(blobs, { layers: [await layer('amd')] });
    const second = closureEntry(putIndex(blobs, [amd, arm]), 'edge.example/platforms/two');
    for (const { digest } of parts) blobs.delete(digest);
    expect(await provider.has([arm.digest], [second, first], never)).toEqual(new Set([arm.digest]));
    expect(await provider.bring(second, sourceOf(blobs), never)).toBe('brought');
    expect(await provider.keeps([first, second], never)).toEqual(new Set([first.digest, second.digest]));
  });

  it('have no tag when they are damaged, and are pushed when they are correct', async () => {
    const bottom = await layer('damaged');
    const image = closureEntry(putImage(blobs, { layers: [bottom] }), 'edge.example/damaged');
    const good = blobs.get(bottom.digest) as Buffer;
    const bad = Buffer.from(good);
    bad[600] = (bad[600] ?? 0) ^ 1;
    blobs.set(bottom.digest, bad);
    const error = await provider.bring(image, sourceOf(blobs), never).catch((it: unknown) => it);
    expect(isFleetError(error, 'DIGEST_MISMATCH'), String(error)).toBe(true);
    expect(await provider.keeps([image], never)).toEqual(new Set());
    blobs.set(bottom.digest, good);
    expect(await provider.bring(image, sourceOf(blobs), never)).toBe('brought');
  });

  it('are pulled by containerd under the name in the manifest, with one mirror rule for each host', async () => {
    await using folder = await temporaryDirectory('hosts');
    await using containerd = await startContainerd(paths.containerd);
    const manifest = putImage(blobs, { layers: [await layer('mirrored')] });
    const image = closureEntry(manifest, 'registry.nowhere.example:5000/team/app');
    await provider.bring(image, sourceOf(blobs), never);
    const rule = join(folder.path, 'registry.nowhere.example:5000/hosts.toml');
    await mkdir(dirname(rule));
    await writeFile(
      rule,
      [
        `[host."http://${registry.host}/v2/mirror/registry.nowhere.example_5000"]`,
        '  capabilities = ["pull", "resolve"]',
        '  override_path = true',
        '',
      ].join('\n'),
    );
    const [name = ''] = image.names ?? [];
    await containerd.ctr('images', 'pull', '--hosts-dir', folder.path, name);
    expect(await containerd.ctr('images', 'ls', '-q')).toContain(name);
  });
});
