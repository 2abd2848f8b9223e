import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Descriptor, encodeManifest, type Manifest } from '../../../bundles/formats/layout/manifest.ts';
import { type Digest, digestOf } from '../../../bundles/digest.ts';
import { openBlobDirectory } from '../../../bundles/formats/layout/blob-directory.ts';
import { OCI_EMPTY, OCI_INDEX, OCI_MANIFEST } from '../../../bundles/media-types.ts';
import { openRegistry } from '../../../bundles/transport/registry/open-registry.ts';
import { pushTree } from '../../../bundles/transport/registry/push-tree.ts';
import type { Registry, Repository } from '../../../bundles/transport/registry/registry.ts';
import { startCuttingProxy } from '../../harness/neighbours/cutting-proxy.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { collectGarbage, startRegistry } from '../../harness/neighbours/registry.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

type Blob = Descriptor & { readonly bytes: Buffer };

const blobOf = (bytes: Buffer, mediaType = 'application/octet-stream'): Blob => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.byteLength,
  bytes,
});
const plain = ({ mediaType, digest, size }: Descriptor): Descriptor => ({ mediaType, digest, size });

const EMPTY = blobOf(Buffer.from('{}'), OCI_EMPTY);

async function* inChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const push = (repository: Repository, blob: Blob, mountFrom?: string) =>
  repository.pushBlob(blob, async () => inChunks(blob.bytes), { mountFrom });

const read = async (repository: Repository, digest: Digest): Promise<Digest> => {
  const hash = createHash('sha256');
  for await (const chunk of await repository.blobs.open(digest)) hash.update(chunk);
  return `sha256:${hash.digest('hex')}`;
};

const artifact = (layers: readonly Blob[], more: Partial<Manifest> = {}) =>
  encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: 'application/vnd.example.thing.v1',
    config: plain(EMPTY),
    layers: layers.map(plain),
    ...more,
  });

/** Waits are real but short: what is behind the wire is a real registry that is there. */
const open = (host: string): Registry =>
  openRegistry(
    { host, prefix: 'factory' },
    { plainHttp: [], env: {}, sleep: async (_ms, signal) => sleep(5, undefined, { signal }) },
  );

const pushArtifact = async (
  repository: Repository,
  tag: string,
  layers: readonly Blob[],
): Promise<Descriptor> => {
  for (const blob of [EMPTY, ...layers]) await push(repository, blob);
  const { bytes, descriptor } = artifact(layers);
  await repository.pushManifest(tag, { mediaType: OCI_MANIFEST, bytes });
  return descriptor;
};

const REGISTRIES = LONG
  ? (['dockerRegistry', 'distribution3', 'ociregistry'] as const)
  : (['dockerRegistry', 'ociregistry'] as const);

for (const name of REGISTRIES) {
  describeWith([name], `the registry client and ${name}`, (paths) => {
    let server: AsyncDisposable & { readonly host: string };
    let registry: Registry;
    beforeAll(async () => {
      server = await (name === 'ociregistry' ? startOciRegistry : startRegistry)(paths[name]);
      registry = open(server.host);
    });
    afterAll(async () => {
      await registry[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });

    it('find nothing in a missing repository', async () => {
      const repository = registry.repository('no/such');
      expect(await repository.resolve('release')).toBeUndefined();
      expect(await repository.fetchManifest('release')).toBeUndefined();
      expect(await repository.tags()).toEqual([]);
      expect(await repository.blobs.size(EMPTY.digest)).toBeUndefined();
      await expect(repository.blobs.open(EMPTY.digest)).rejects.toMatchObject({ code: 'MISSING_BLOB' });
    });

    it.each([0, 1, 100_000, 16 << 20, (17 << 20) + 1])(
      'transfer a blob of %d bytes in both directions',
      async (size) => {
        const repository = registry.repository('prod/line');
        const blob = blobOf(randomBytes(size));
        expect(await repository.blobs.size(blob.digest)).toBeUndefined();
        expect(await push(repository, blob)).toBe('uploaded');
        expect(await push(repository, blob)).toBe('there');
        expect(await repository.blobs.size(blob.digest)).toBe(size);
        expect(await read(repository, blob.digest)).toBe(blob.digest);
      },
    );

    it('mount a blob from another repository', async () => {
      const blob = blobOf(randomBytes(1000));
      await push(registry.repository('qa/line'), blob);
      expect(await push(registry.repository('stage/line'), blob, 'qa/line')).toBe('mounted');
      expect(await read(registry.repository('stage/line'), blob.digest)).toBe(blob.digest);
      const absent = blobOf(randomBytes(1000));
      expect(await push(registry.repository('stage/line'), absent, 'qa/line')).toBe('uploaded');
    });

    it('keep the bytes of a manifest, by tag, by digest, and as a blob', async () => {
      const repository = registry.repository('prod/kiosk');
      const descriptor = await pushArtifact(repository, 'release', [blobOf(randomBytes(500))]);
      expect(await repository.resolve('release')).toEqual({ ...plain(descriptor) });
      const found = await repository.fetchManifest(descriptor.digest);
      expect(found?.descriptor.digest).toBe(descriptor.digest);
      await using fresh = open(server.host);
      const other = fresh.repository('prod/kiosk');
      expect(await other.blobs.size(descriptor.digest)).toBe(descriptor.size);
      expect(await read(other, descriptor.digest)).toBe(descriptor.digest);
      const untagged = artifact([], { annotations: { only: 'by digest' } });
      await repository.pushManifest(untagged.descriptor.digest, {
        mediaType: OCI_MANIFEST,
        bytes: untagged.bytes,
      });
      expect((await repository.fetchManifest(untagged.descriptor.digest))?.bytes.equals(untagged.bytes)).toBe(
        true,
      );
    });

    it('list tags, and remove one of two tags of the same manifest', async () => {
      const repository = registry.repository('prod/tags');
      const tags = Array.from({ length: 30 }, (_, at) => `b-${String(at).padStart(3, '0')}`);
      for (const tag of tags) await pushArtifact(repository, tag, []);
      await pushArtifact(repository, 'Release', []);
      expect(await repository.tags()).toEqual(['Release', ...tags]);
      await repository.removeTag('b-003');
      await repository.removeTag('b-003');
      await repository.removeTag('never-there');
      expect(await repository.tags()).toEqual(['Release', ...tags.filter((tag) => tag !== 'b-003')]);
      expect(await repository.resolve('b-004')).toMatchObject({ digest: artifact([]).descriptor.digest });
      expect(await repository.resolve('b-003')).toBeUndefined();
    });

    it('find the referrers of a manifest', async () => {
      const repository = registry.repository('prod/referrers');
      const subject = await pushArtifact(repository, 'release', []);
      expect(await repository.referrers(subject.digest)).toEqual([]);
      const referrer = artifact([], { subject: plain(subject), annotations: { a: 'b' } });
      await repository.pushManifest(referrer.descriptor.digest, {
        mediaType: OCI_MANIFEST,
        bytes: referrer.bytes,
      });
      if (name !== 'ociregistry') {
        // No referrers API: the tag stands in, as clients of that time write it.
        const index = encodeManifest({
          schemaVersion: 2,
          mediaType: OCI_INDEX,
          manifests: [referrer.descriptor],
        } as never);
        await repository.pushManifest(subject.digest.replace(':', '-'), {
          mediaType: OCI_INDEX,
          bytes: index.bytes,
        });
      }
      expect((await repository.referrers(subject.digest)).map(({ digest }) => digest)).toEqual([
        referrer.descriptor.digest,
      ]);
    });

    it('transfer a large blob in both directions over a connection that breaks repeatedly', async () => {
      const blob = blobOf(randomBytes(25 << 20));
      {
        await using line = await startCuttingProxy(server.host, { bytes: 4_000_000, times: 4 });
        await using over = open(line.host);
        expect(await push(over.repository('cut/line'), blob)).toBe('uploaded');
        expect(line.cuts()).toBe(4);
      }
      await using line = await startCuttingProxy(server.host, { bytes: 3_000_000, times: 6 });
      await using over = open(line.host);
      expect(await read(over.repository('cut/line'), blob.digest)).toBe(blob.digest);
      expect(line.cuts()).toBe(6);
    });

    it.skipIf(!LONG)('transfer a large blob over a connection that breaks at any byte', async () => {
      for (let bytes = 1000; bytes < 26 << 20; bytes = Math.ceil(bytes * 1.7)) {
        for (const times of [1, 2, 4]) {
          const blob = blobOf(randomBytes(25 << 20));
          await using line = await startCuttingProxy(server.host, { bytes, times });
          await using over = open(line.host);
          expect(await push(over.repository('swept/line'), blob), `${times} cuts at ${bytes}`).toBe(
            'uploaded',
          );
          expect(await read(registry.repository('swept/line'), blob.digest)).toBe(blob.digest);
        }
      }
    });

    it('quote the registry when a manifest names missing blobs', async () => {
      const { bytes } = artifact([blobOf(randomBytes(10))]);
      const pushing = registry
        .repository('prod/none')
        .pushManifest('release', { mediaType: OCI_MANIFEST, bytes });
      await expect(pushing).rejects.toMatchObject({
        // ociregistry takes it for a failure of its own.
        code: name === 'ociregistry' ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED',
        message: expect.stringContaining('UNKNOWN'),
      });
    });
  });
}

describeWith(
  ['dockerRegistry', 'oras', 'skopeo'],
  'artifacts of the registry client',
  ({ dockerRegistry, oras, skopeo }) => {
    let folder: TemporaryDirectory;
    beforeAll(async () => {
      folder = await temporaryDirectory('registry-client');
    });
    afterAll(() => folder[Symbol.asyncDispose]());

    it('are read by oras and skopeo, and theirs by the client', async () => {
      await using server = await startRegistry(dockerRegistry);
      await using registry = open(server.host);
      const repository = registry.repository('prod/line');
      const layer = blobOf(randomBytes((16 << 20) + 7));
      const descriptor = await pushArtifact(repository, 'release', [layer]);
      const reference = `${server.host}/factory/prod/line`;

      const fetched = await runOrFail([oras, 'manifest', 'fetch', '--plain-http', `${reference}:release`]);
      expect(digestOf(fetched.stdout)).toBe(descriptor.digest);
      const layout = join(folder.path, 'layout');
      await runOrFail([
        skopeo,
        '--insecure-policy',
        'copy',
        '--src-tls-verify=false',
        `docker://${reference}:release`,
        `oci:${layout}:x`,
      ]);

      const source = openBlobDirectory(layout);
      await pushTree(registry.repository('stage/line'), source, descriptor, {
        tag: 'release',
        mountFrom: 'prod/line',
      });
      expect(await registry.repository('stage/line').resolve('release')).toEqual(plain(descriptor));

      await writeFile(join(folder.path, 'file'), 'written by oras');
      await runOrFail(
        [oras, 'attach', '--plain-http', '--artifact-type', 'x/y', `${reference}:release`, 'file:text/plain'],
        { cwd: folder.path },
      );
      const [referrer] = await repository.referrers(descriptor.digest);
      expect(referrer).toMatchObject({ artifactType: 'x/y' });
      expect((await repository.fetchManifest(referrer?.digest ?? ''))?.bytes.toString()).toContain(
        '"subject"',
      );
    });
  },
);

describeOnVersions('dockerRegistry', [], 'garbage collection of docker-registry', ({ dockerRegistry }) => {
  it.each([false, true])(
    'keeps everything to which a tag leads (untagged manifests too: %s)',
    async (untagged) => {
      await using server = await startRegistry(dockerRegistry);
      const [kept, lost] = [blobOf(randomBytes(5000)), blobOf(randomBytes(5000))];
      await using registry = open(server.host);
      const repository = registry.repository('prod/line');
      const keeps = await pushArtifact(repository, 'b-1', [kept]);
      await pushArtifact(repository, 'b-2', [lost]);
      await repository.removeTag('b-2');
      await collectGarbage(dockerRegistry, server, { untagged });
      // As it would after any maintenance: what the running process remembers is not what is on its disk.
      await using again = await startRegistry(dockerRegistry, { storage: server.storage });
      await using after = open(again.host);
      const left = after.repository('prod/line');
      expect(await left.tags()).toEqual(['b-1']);
      expect(await left.resolve('b-1')).toMatchObject({ digest: keeps.digest });
      expect(await read(left, kept.digest)).toBe(kept.digest);
      expect(await left.blobs.size(lost.digest)).toBe(untagged ? undefined : lost.size);
    },
  );
});
