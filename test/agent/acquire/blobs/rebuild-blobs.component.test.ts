import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { createPatch } from '#bundles/formats/delta/create-patch';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import {
  agentFolder,
  type Delta,
  type Medium,
  type OpenMedium,
  parseMedium,
} from '#bundles/formats/medium/medium';
import { fetchBlobs } from '../../../../agent/acquire/blobs/fetch-blobs.ts';
import { onDisk, RESERVED_BYTES } from '../../../../agent/acquire/blobs/free-space.ts';
import { importMedium } from '../../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { collectGarbage } from '../../../../agent/store/collect-garbage.ts';
import { forgetPull } from '../../../../agent/store/pull.ts';
import { packTestBundle } from '../../../harness/fleets/signed-medium.ts';
import { makeTestSet } from '../../../harness/fleets/test-set.ts';
import { liveFiles } from '../../folder-target.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../../images/image-fixture.ts';
import { kubernetesBundle } from '../../images/kubernetes-bundle.ts';
import { memoryProvider } from '../../images/memory-provider.ts';
import { createWorld, onePackage, SITE, storedBlobs, type World } from '../../world.ts';

/** Text that packs badly, much of it the same in both versions. */
const textOf = (version: string): string => {
  const lines = Array.from({ length: 400 }, (_, line) => digestOf(`line ${line}`));
  lines[200] = digestOf(version);
  return lines.join('\n');
};

type Delivered = {
  readonly medium: string;
  readonly layer: Digest;
  readonly base: Digest;
  readonly patch: Delta['patch'];
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (isFleetError(error) ? error.code : String(error)),
  );

/** Release 1 is here; a medium with release 2 has a patch in place of its layer. `change`: the patch, before it is named. */
const deliver = async (
  world: World,
  change = (patch: Buffer): Buffer => patch,
  more: readonly ReturnType<typeof onePackage>[] = [],
): Promise<Delivered> => {
  await world.release(1, [onePackage('app', textOf('one'))]);
  const old = packTestBundle(world.fleet, [onePackage('app', textOf('one'))]);
  const next = packTestBundle(world.fleet, [onePackage('app', textOf('two')), ...more]);
  const [base, layer] = [old.layers.get('app')?.digest, next.layers.get('app')?.digest] as [Digest, Digest];
  const [before, after] = [old.blobs.get(base), next.blobs.get(layer)] as [Buffer, Buffer];
  const made = await createPatch(before, after, after.length);
  expect(made?.form).toBe('gzip');
  expect(made?.bytes.byteLength).toBeLessThan(after.length / 10);
  const bytes = change(made?.bytes ?? Buffer.alloc(0));
  const medium = await world.medium({ release: { version: 2, bundle: next }, assumed: [layer] });
  const patch = { path: 'fleet/deltas/abc.zst', size: bytes.byteLength, digest: digestOf(bytes) };
  await mkdir(join(medium, 'fleet/deltas'));
  await writeFile(join(medium, patch.path), bytes);
  const delta: Delta = { digest: layer, size: after.byteLength, base, form: 'gzip', patch };
  const file = join(medium, 'fleet/medium.json');
  const contents = parseMedium(await readFile(file));
  await writeFile(file, canonicalBytes({ ...contents, deltas: [delta], critical: ['deltas'] }));
  return { medium, layer, base, patch };
};

const needs = async (medium: string): Promise<readonly string[]> => {
  const file = join(medium, 'fleet/requests', `${agentFolder(`${SITE}/kiosk-1`)}-needs.json`);
  return (JSON.parse(await readFile(file, 'utf8')) as { missing: string[] }).missing;
};

describe('a patch on a medium', () => {
  it('yields the new layer from the stored one, and the package is applied', async () => {
    await using world = await createWorld();
    const { medium, layer } = await deliver(world);
    expect((await importMedium(world.agent, medium)).packages).toEqual([
      { assignment: 'app', outcome: 'configured' },
    ]);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': textOf('two') });
    expect(await storedBlobs(world.agent.state)).toContain(layer);
    expect((await importMedium(world.agent, medium)).news).toBe('same');
  });

  it('without its base or with a damaged one is ignored, and the whole blob is requested', async () => {
    for (const damage of [rm, (path: string) => writeFile(path, 'damaged')]) {
      await using world = await createWorld();
      const { medium, layer, base } = await deliver(world);
      const before = new Set(await storedBlobs(world.agent.state));
      before.delete(base);
      await damage(world.agent.state.blobs.path(base));
      expect(await codeOf(importMedium(world.agent, medium))).toBe('MISSING_BASE');
      expect(await needs(medium)).toEqual([layer]);
      expect(await storedBlobs(world.agent.state)).toEqual(before);
    }
  });

  it('P14: that lies makes nothing, and the whole blob is asked for -> MISSING_BASE', async () => {
    await using world = await createWorld();
    const other = await createPatch(Buffer.from('something else'), Buffer.from('that nobody wants'), 1000);
    const { medium, layer } = await deliver(world, () => other?.bytes ?? Buffer.alloc(0));
    const before = await storedBlobs(world.agent.state);
    expect(await codeOf(importMedium(world.agent, medium))).toBe('MISSING_BASE');
    expect(await needs(medium)).toEqual([layer]);
    expect(await storedBlobs(world.agent.state)).toEqual(before);
    // It comes whole with the next trip.
    const next = packTestBundle(world.fleet, [onePackage('app', textOf('two'))]);
    await writeFile(join(medium, 'blobs/sha256', hexOf(layer)), next.blobs.get(layer) ?? '');
    expect(await codeOf(importMedium(world.agent, medium))).toBe('done');
  });

  it('P14: that was damaged on the way is named, and lost ones too; nothing changes -> DIGEST_MISMATCH', async () => {
    await using world = await createWorld();
    const { medium } = await deliver(world);
    const before = await storedBlobs(world.agent.state);
    const file = join(medium, 'fleet/deltas/abc.zst');
    const bytes = await readFile(file);
    bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
    await writeFile(file, bytes);
    const refused: unknown = await importMedium(world.agent, medium).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'DIGEST_MISMATCH',
      message: expect.stringContaining('fleet/deltas/abc.zst') as string,
    });
    await rm(file);
    expect(await codeOf(importMedium(world.agent, medium))).toBe('MISSING_BLOB');
    expect(await storedBlobs(world.agent.state)).toEqual(before);
  });

  it('is not applied without space for its result: DISK_FULL', async () => {
    await using world = await createWorld();
    const { medium } = await deliver(world);
    const full: Agent = { ...world.agent, freeBytes: async () => 10 };
    expect(await codeOf(importMedium(full, medium))).toBe('DISK_FULL');
  });

  it('is not applied without space to unpack its base, with the missing bytes in the error', async () => {
    await using world = await createWorld();
    const { medium, layer, base } = await deliver(world);
    const { blobs } = world.agent.state;
    const next = packTestBundle(world.fleet, [onePackage('app', textOf('two'))]);
    const content = gunzipSync(await readFile(blobs.path(base))).byteLength;
    const needed = onDisk(next.blobs.get(layer)?.byteLength ?? 0) + onDisk(content) + RESERVED_BYTES;
    const withFree = (free: number): Agent => ({ ...world.agent, freeBytes: async () => free });
    expect(await importMedium(withFree(needed - 7), medium).catch((error: unknown) => error)).toMatchObject({
      code: 'DISK_FULL',
      message: expect.stringContaining(`the release needs ${needed} bytes in `) as string,
      hint: expect.stringContaining('Free 7 bytes ') as string,
    });
    expect(await storedBlobs(world.agent.state)).not.toContain(layer);
    expect(await codeOf(importMedium(withFree(needed), medium))).toBe('done');
  });
});

describe('a patch in a set of parts', () => {
  /** Part 1 has a patch for one package, part 2 the other package whole, or the other way round. */
  const sticks = async (world: World, spoil = (patch: Buffer): Buffer => patch) => {
    const { medium, layer, base, patch } = await deliver(world, spoil, [onePackage('new', textOf('new'))]);
    const file = join(medium, 'fleet/medium.json');
    const contents = parseMedium(await readFile(file));
    const path = `blobs/sha256/${hexOf(patch.digest)}`;
    await rename(join(medium, patch.path), join(medium, path));
    const deltas = contents.deltas?.map((delta) => ({ ...delta, patch: { ...patch, path } }));
    await writeFile(file, canonicalBytes({ ...contents, deltas }));
    const set = await makeTestSet(medium, 2);
    const patched = set.numbers.find((number) => set.files(number).includes(path)) ?? 0;
    const other = 3 - patched;
    const stick = (number: number, change?: Parameters<typeof set.stick>[2]): Promise<string> =>
      set.stick(join(world.folder, `stick-${number}`), [number], change);
    return { layer, base, path, patched, other, stick };
  };
  const BOTH = { '/opt/app': textOf('two'), '/opt/new': textOf('new') };

  it.each(['first', 'last'])('that comes %s yields the new layer, and is not stored itself', async (when) => {
    await using world = await createWorld();
    const { layer, path, patched, other, stick } = await sticks(world);
    const order = when === 'first' ? [patched, other] : [other, patched];
    const error: unknown = await importMedium(world.agent, await stick(order[0] ?? 0)).catch(
      (it: unknown) => it,
    );
    expect(error).toMatchObject({
      code: 'PARTS_MISSING',
      message: `part ${order[1]} of 2 is not here; what was on this stick is kept`,
    });
    // The daemon looks around in between.
    await collectGarbage(world.agent.state);
    expect((await storedBlobs(world.agent.state)).has(layer)).toBe(when === 'first');
    await importMedium(world.agent, await stick(order[1] ?? 0));
    expect(liveFiles(join(world.folder, 'machine'))).toEqual(BOTH);
    const stored = await storedBlobs(world.agent.state);
    expect(stored).toContain(layer);
    expect([...stored].map(hexOf)).not.toContain(path.slice(-64));
  });

  it('P14: that lies makes nothing, and the whole blob is asked for -> MISSING_BASE', async () => {
    await using world = await createWorld();
    const lie = await createPatch(Buffer.from('something else'), Buffer.from('that nobody wants'), 1000);
    const { layer, patched, other, stick } = await sticks(world, () => lie?.bytes ?? Buffer.alloc(0));
    expect(await codeOf(importMedium(world.agent, await stick(other)))).toBe('PARTS_MISSING');
    const path = await stick(patched);
    expect(await codeOf(importMedium(world.agent, path))).toBe('MISSING_BASE');
    expect(await needs(path)).toEqual([layer]);
  });

  it('that is damaged is reported with its part, and a good copy completes the set', async () => {
    await using world = await createWorld();
    const { path, patched, other, stick } = await sticks(world);
    const bad = await stick(patched, (_, bytes) => {
      const copy = Buffer.from(bytes);
      const at = copy.lastIndexOf(path) + 512 + 20;
      copy[at] = (copy[at] as number) ^ 1;
      return copy;
    });
    const refused: unknown = await importMedium(world.agent, [bad, await stick(other)]).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      code: 'DIGEST_MISMATCH',
      message: expect.stringContaining(`part ${patched} (`) as string,
    });
    await rm(bad, { recursive: true });
    await importMedium(world.agent, [await stick(patched), await stick(other)]);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual(BOTH);
  });
});

describe('a patch for an image layer', () => {
  /** A stick with the new image but for its layer, and a provider that has the old layer. */
  const stick = async (world: World) => {
    const blobs: Blobs = new Map();
    const old = await putLayer(blobs, { app: textOf('one') });
    const layer = await putLayer(blobs, { app: textOf('two') });
    const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
    const bundle = await kubernetesBundle(blobs, [image]);
    const [before, after] = [blobs.get(old.digest), blobs.get(layer.digest)] as [Buffer, Buffer];
    const made = await createPatch(before, after, after.length);
    const bytes = made?.bytes ?? Buffer.alloc(0);
    const patch = { path: 'fleet/deltas/abc.zst', size: bytes.byteLength, digest: digestOf(bytes) };
    const deltas: Delta[] = [
      { digest: layer.digest, size: layer.size, base: old.digest, form: 'plain', patch },
    ];
    const assumed = [{ digest: layer.digest, size: layer.size }];
    blobs.delete(layer.digest);
    blobs.delete(old.digest);
    const medium = {
      path: 'stick',
      form: 'tar',
      roots: [],
      medium: { bundles: [{ ...bundle, assumed }], deltas } as unknown as Medium,
      blobs: sourceOf(blobs),
      readFile: async () => bytes,
    } as Partial<OpenMedium> as OpenMedium;
    const provider = memoryProvider();
    provider.blobs.set(old.digest, before);
    const agent: Agent = { ...world.agent, images: [provider] };
    return { agent, provider, bundle, old, layer, source: { blobs: sourceOf(blobs), medium } };
  };

  it("is applied to the provider's old layer, and its result goes to the provider", async () => {
    await using world = await createWorld();
    const { agent, provider, bundle, layer, source } = await stick(world);
    expect(await fetchBlobs(agent, source, [bundle])).toEqual({ brought: 1, left: 0 });
    expect(digestOf(provider.blobs.get(layer.digest) ?? '')).toBe(layer.digest);
    forgetPull(agent.state);
    await collectGarbage(agent.state);
    expect(await storedBlobs(agent.state)).not.toContain(layer.digest);
  });

  it('is not applied when the provider has the image, or without a provider', async () => {
    await using world = await createWorld();
    const { agent, provider, bundle, layer, source } = await stick(world);
    const none = { ...agent, images: [] };
    expect(await fetchBlobs(none, source, [bundle])).toEqual({ brought: 0, left: 1 });
    await fetchBlobs(agent, source, [bundle]);
    await agent.state.blobs.remove(layer.digest);
    provider.blobs.clear();
    expect(await fetchBlobs(agent, source, [bundle])).toEqual({ brought: 0, left: 0 });
    expect(await storedBlobs(agent.state)).not.toContain(layer.digest);
  });

  it('requires space for the old layer that the provider returns, beside the new one', async () => {
    await using world = await createWorld();
    const { agent, bundle, old, layer, source } = await stick(world);
    const needed = onDisk(layer.size) + onDisk(old.size) + RESERVED_BYTES;
    const withFree = (free: number): Agent => ({ ...agent, freeBytes: async () => free });
    expect(await codeOf(fetchBlobs(withFree(needed - 1), source, [bundle]))).toBe('DISK_FULL');
    expect(await codeOf(fetchBlobs(withFree(needed), source, [bundle]))).toBe('done');
  });

  it('is ignored when the provider lost the old layer, and the whole layer is requested', async () => {
    await using world = await createWorld();
    const { agent, provider, bundle, old, source } = await stick(world);
    provider.blobs.delete(old.digest);
    expect(await codeOf(fetchBlobs(agent, source, [bundle]))).toBe('MISSING_BASE');
    expect(provider.asked).toEqual([]);
  });
});

describe('a medium with untrusted patches', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
  const packages = (version: string) => NAMES.map((name) => onePackage(name, textOf(`${name} ${version}`)));

  /** Release 2 in patches, of which those at these places make something else. */
  const deliverAll = async (world: World, lying: readonly number[]) => {
    await world.release(1, packages('one'));
    const [old, next] = ['one', 'two'].map((version) => packTestBundle(world.fleet, packages(version))) as [
      ReturnType<typeof packTestBundle>,
      ReturnType<typeof packTestBundle>,
    ];
    const layers = NAMES.map((name) => next.layers.get(name)?.digest as Digest);
    const medium = await world.medium({ release: { version: 2, bundle: next }, assumed: layers });
    const deltas: Delta[] = [];
    await mkdir(join(medium, 'fleet/deltas'));
    for (const [at, name] of NAMES.entries()) {
      const base = old.layers.get(name)?.digest as Digest;
      const [before, after] = [old.blobs.get(base), next.blobs.get(layers[at] as Digest)] as [Buffer, Buffer];
      const made = await createPatch(before, lying.includes(at) ? before : after, after.length);
      const bytes = made?.bytes ?? Buffer.alloc(0);
      const patch = {
        path: `fleet/deltas/${name}.zst`,
        size: bytes.byteLength,
        digest: digestOf(bytes),
      };
      await writeFile(join(medium, patch.path), bytes);
      const digest = layers[at] as Digest;
      deltas.push({ digest, size: after.byteLength, base, form: 'gzip', patch });
    }
    const file = join(medium, 'fleet/medium.json');
    const contents = parseMedium(await readFile(file));
    await writeFile(file, canonicalBytes({ ...contents, deltas, critical: ['deltas'] }));
    return { medium, layers };
  };

  const tried = async (world: World, medium: string) => {
    const log: string[] = [];
    const agent: Agent = { ...world.agent, onJournal: (line) => log.push(line) };
    const refused = await importMedium(agent, medium).then(
      () => ({ code: 'done', message: '' }),
      (error: { code: string; message: string }) => error,
    );
    return { refused, patched: log.filter((line) => line.startsWith('acquire patched')).length };
  };

  it('stops after three bad patches: the remaining patches are not tried, and all blobs are requested', async () => {
    await using world = await createWorld();
    const { medium, layers } = await deliverAll(world, [0, 1, 2, 3, 4]);
    const { refused, patched } = await tried(world, medium);
    expect(patched).toBe(3);
    expect(refused).toMatchObject({
      code: 'MISSING_BASE',
      message: expect.stringContaining(
        '; 3 patches do not yield their blobs, so the other 2 were not tried',
      ) as string,
    });
    expect(await needs(medium)).toEqual(layers.toSorted());
  });

  it('with one bad patch keeps the results of the others for the next medium', async () => {
    await using world = await createWorld();
    const { medium, layers } = await deliverAll(world, [2]);
    const { refused } = await tried(world, medium);
    expect(refused.message).toMatch(/blobs that are not here: \S+; 1 patch does not yield its blob$/);
    expect(await needs(medium)).toEqual([layers[2]]);
  });

  it('with wrong sizes of patches ignores them, and removes nothing from the store', async () => {
    await using world = await createWorld();
    const { medium, layers } = await deliverAll(world, []);
    expect((await tried(world, medium)).refused.code).toBe('done');
    const file = join(medium, 'fleet/medium.json');
    const { deltas = [], ...contents } = parseMedium(await readFile(file));
    const wrong = deltas.map((delta) => ({ ...delta, size: delta.size + 1 }));
    await writeFile(file, canonicalBytes({ ...contents, deltas: wrong }));
    expect(await tried(world, medium)).toMatchObject({ refused: { code: 'done' }, patched: 0 });
    for (const layer of layers) expect(await storedBlobs(world.agent.state)).toContain(layer);
  });
});
