import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource, OpenFrom } from '#bundles/formats/layout/blobs';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { fetchBlobs } from '../../../agent/acquire/blobs/fetch-blobs.ts';
import type { Source } from '../../../agent/acquire/blobs/source.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { heldWithImages } from '../../../agent/images/held-bundles.ts';
import { releaseImages } from '../../../agent/images/release-images.ts';
import { saveBundle } from '../../../agent/store/bundles.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { isBegun } from '../../../agent/store/partial-blobs.ts';
import { forgetPull } from '../../../agent/store/pull.ts';
import { tryPullLock } from '../../../agent/store/pull-lock.ts';
import { readTrustRow, saveTrustRow } from '../../../agent/store/trust.ts';
import { createWorld, storedBlobs, type World } from '../world.ts';
import {
  type Blobs,
  closureEntry,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
  sourceOf,
} from './image-fixture.ts';
import { kubernetesBundle } from './kubernetes-bundle.ts';
import { memoryProvider } from './memory-provider.ts';

let world: World;
let blobs: Blobs;
beforeEach(async () => {
  world = await createWorld();
  blobs = new Map();
});
afterEach(() => world[Symbol.asyncDispose]());

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (isFleetError(error) ? error.code : String(error)),
  );

const agentWith = (more: Partial<Agent>): Agent => ({ ...world.agent, ...more });

/** A stick that lists this bundle and leaves out what it assumes. */
const stick = (
  bundle: { readonly digest: `sha256:${string}`; readonly size: number },
  assumed: readonly string[],
) => {
  const contents = {
    bundles: [{ ...bundle, assumed: assumed.map((digest) => ({ digest, size: 1 })) }],
  } as unknown as Medium;
  const medium = {
    path: 'stick',
    form: 'tar',
    roots: [],
    medium: contents,
    blobs: sourceOf(blobs),
  } as Partial<OpenMedium>;
  return { blobs: sourceOf(blobs), medium: medium as OpenMedium } satisfies Source;
};

describe('images of a Kubernetes bundle', () => {
  it('are imported by the provider and not stored as blobs', async () => {
    const provider = memoryProvider();
    const layer = await putLayer(blobs, { app: 'one' });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const agent = agentWith({ images: [provider] });
    expect(await fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle])).toEqual({ brought: 1, left: 0 });
    expect(provider.images.get(image.digest)?.names).toEqual(image.names);
    const stored = await storedBlobs(agent.state);
    expect(stored).toContain(bundle.digest);
    expect(stored).not.toContain(layer.digest);
    expect(stored).not.toContain(image.digest);
    // Nothing is read a second time for what is there.
    expect(await fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle])).toEqual({ brought: 0, left: 0 });
    expect(provider.asked).toEqual([image.digest]);
  });

  /** A line to a registry that breaks after some bytes, and is down until it is mended. */
  const breakingLine = (bytes: number) => {
    const whole = sourceOf(blobs);
    let left = bytes;
    let came = 0;
    const openFrom: OpenFrom = async (digest, from) => {
      const content = blobs.get(digest)?.subarray(from) ?? Buffer.alloc(0);
      return (async function* () {
        for (let at = 0; at < content.byteLength; at += 65_536) {
          const piece = content.subarray(at, at + 65_536);
          if (piece.byteLength > left) left = 0;
          if (left === 0) throw new FleetError('REGISTRY_UNREACHABLE', 'the line is down');
          left -= piece.byteLength;
          came += piece.byteLength;
          yield piece;
        }
      })();
    };
    const source: BlobSource = { ...whole, open: (digest) => openFrom(digest, 0), openFrom };
    return { source, mend: () => void (left = bytes), came: () => came };
  };

  it('continue after an interrupted transfer, with their bytes transferred once after the first attempt', async () => {
    const provider = memoryProvider();
    const layer = await putLayer(blobs, { app: randomBytes(2_000_000).toString('hex') });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const agent = agentWith({ images: [provider] });
    const line = breakingLine(1_500_000);
    const pull = async (): Promise<string> => {
      line.mend();
      const code = await codeOf(fetchBlobs(agent, { blobs: line.source }, [bundle]));
      await collectGarbage(agent.state);
      return code;
    };
    const away = 'REGISTRY_UNREACHABLE';
    expect([await pull(), await pull(), await pull(), await pull()]).toEqual([away, away, away, 'done']);
    expect(provider.images.has(image.digest)).toBe(true);
    expect(line.came()).toBeLessThan(layer.size + 1_500_000 + 200_000);
    forgetPull(agent.state);
    await collectGarbage(agent.state);
    expect(await storedBlobs(agent.state)).not.toContain(layer.digest);
  });

  it('are not buffered for an interrupted transfer when the disk has no room', async () => {
    const layer = await putLayer(blobs, { app: randomBytes(1_000_000).toString('hex') });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const agent = agentWith({ images: [memoryProvider()], freeBytes: async () => 1_000_000 });
    const line = breakingLine(1_500_000);
    expect(await codeOf(fetchBlobs(agent, { blobs: line.source }, [bundle]))).toBe('REGISTRY_UNREACHABLE');
    expect(isBegun(agent.state, layer.digest)).toBe(false);
  });

  it('are left out when the machine has no image provider', async () => {
    const image = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: 'two' })] }),
      'edge.example/web',
    );
    const bundle = await kubernetesBundle(blobs, [image]);
    expect(await fetchBlobs(world.agent, { blobs: sourceOf(blobs) }, [bundle])).toEqual({
      brought: 0,
      left: 1,
    });
    expect(await storedBlobs(world.agent.state)).toEqual(
      new Set([
        bundle.digest,
        bundle.manifest.config.digest,
        ...bundle.manifest.layers.map((it) => it.digest),
      ]),
    );
  });

  it('may leave out blobs that every provider has, and no others', async () => {
    const [one, other] = [memoryProvider(), memoryProvider()];
    const base = await putLayer(blobs, { base: 'base' });
    const own = await putLayer(blobs, { app: 'own' });
    const platforms = ['amd64', 'arm64'].map((architecture) =>
      putImage(blobs, { layers: [base, own], architecture }),
    );
    const index = putIndex(blobs, [...platforms, putAttestation(blobs, platforms[0] as never)]);
    const image = closureEntry(index, 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const bytes = blobs.get(base.digest) as Buffer;
    blobs.delete(base.digest);
    one.blobs.set(base.digest, bytes);
    const agent = agentWith({ images: [one, other] });
    const from = stick(bundle, [base.digest]);
    expect(await codeOf(fetchBlobs(agent, from, [bundle]))).toBe('MISSING_BASE');
    expect([one.asked, other.asked]).toEqual([[], []]);
    expect(await storedBlobs(agent.state)).toEqual(new Set());
    other.blobs.set(base.digest, bytes);
    expect(await fetchBlobs(agent, from, [bundle])).toEqual({ brought: 1, left: 0 });
    expect(other.images.has(image.digest)).toBe(true);
  });

  it('that are missing in the source are MISSING_BLOB and not counted as left out', async () => {
    const layer = await putLayer(blobs, { app: 'lost' });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    blobs.delete(layer.digest);
    const agent = agentWith({ images: [memoryProvider()] });
    expect(await codeOf(fetchBlobs(agent, stick(bundle, []), [bundle]))).toBe('MISSING_BLOB');
    expect(await codeOf(fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]))).toBe('MISSING_BLOB');
  });

  it('count towards the disk that they go to, before the first byte is copied', async () => {
    const provider = memoryProvider(world.folder);
    const layer = await putLayer(blobs, { app: Buffer.alloc(1 << 20) });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const own = [bundle.size, bundle.manifest.config.size, ...bundle.manifest.layers.map(({ size }) => size)];
    const needed = own.reduce((sum, one) => sum + one, layer.size + image.size);
    const agent = agentWith({ images: [provider], freeBytes: async () => needed });
    // The image's config is missing in that sum.
    expect(await codeOf(fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]))).toBe('DISK_FULL');
    expect(provider.asked).toEqual([]);
    expect(await storedBlobs(agent.state)).toEqual(new Set());
  });

  it('are refused by digest when the medium is damaged', async () => {
    const layer = await putLayer(blobs, { app: 'damaged' });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const bad = Buffer.from(blobs.get(layer.digest) as Buffer);
    bad[600] = 0xff;
    blobs.set(layer.digest, bad);
    const provider = memoryProvider();
    const work = fetchBlobs(agentWith({ images: [provider] }), { blobs: sourceOf(blobs) }, [bundle]);
    expect(await codeOf(work)).toBe('DIGEST_MISMATCH');
    expect(provider.images.size).toBe(0);
  });

  it('have one entry with all names when two bundles run them', async () => {
    const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'shared' })] });
    const first = await kubernetesBundle(blobs, [closureEntry(manifest, 'edge.example/a')]);
    const second = await kubernetesBundle(blobs, [
      closureEntry(manifest, 'edge.example/a', 'edge.example/b'),
    ]);
    const provider = memoryProvider();
    await fetchBlobs(agentWith({ images: [provider] }), { blobs: sourceOf(blobs) }, [first, second]);
    expect(provider.asked).toEqual([manifest.digest]);
    expect(provider.images.get(manifest.digest)?.names).toEqual([
      `edge.example/a@${manifest.digest}`,
      `edge.example/b@${manifest.digest}`,
    ]);
  });
});

describe('heldWithImages', () => {
  it('lists a bundle only while its images are with the provider', async () => {
    const provider = memoryProvider();
    const image = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: 'held' })] }),
      'edge.example/web',
    );
    const bundle = await kubernetesBundle(blobs, [image]);
    const agent = agentWith({ images: [provider] });
    await fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]);
    saveBundle(agent.state, bundle);
    expect(await heldWithImages(agent)).toEqual([bundle.digest]);
    provider.silent = true;
    expect(await heldWithImages(agent)).toEqual([]);
    provider.silent = false;
    provider.images.clear();
    expect(await heldWithImages(agent)).toEqual([]);
  });

  it('lists no bundle whose images were left out, and every bundle without images', async () => {
    const image = closureEntry(
      putImage(blobs, { layers: [await putLayer(blobs, { app: 'left' })] }),
      'edge.example/web',
    );
    const agent = agentWith({ images: [] });
    const [left, plain] = [await kubernetesBundle(blobs, [image]), await kubernetesBundle(blobs, [])];
    for (const bundle of [left, plain]) {
      await fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]);
      saveBundle(agent.state, bundle);
    }
    expect(await heldWithImages(agent)).toEqual([plain.digest]);
  });
});

describe('images of removed releases', () => {
  it('are removed from the provider, except those of wanted bundles', async () => {
    const provider = memoryProvider();
    const agent = agentWith({ images: [provider] });
    const images = [];
    for (const name of ['old', 'new']) {
      const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: name })] });
      const image = closureEntry(manifest, `edge.example/${name}`);
      const bundle = await kubernetesBundle(blobs, [image]);
      await fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]);
      saveBundle(agent.state, bundle);
      images.push({ image, bundle });
    }
    const [old, current] = images;
    const wanted = images.map(({ bundle }) => bundle.digest);
    saveTrustRow(agent.state, { ...readTrustRow(agent.state), desiredBundles: wanted });
    forgetPull(agent.state);
    expect(await releaseImages(agent)).toEqual([]);
    saveTrustRow(agent.state, { ...readTrustRow(agent.state), desiredBundles: wanted.slice(1) });
    {
      // A pull hands the documents of a release to providers before it pins the first blob.
      using _pull = tryPullLock(agent.state.directory);
      expect(await releaseImages(agent)).toEqual([]);
    }
    expect(await releaseImages(agent)).toEqual(old?.image.names);
    expect([...provider.images.keys()]).toEqual([current?.image.digest]);
  });
});
