import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { canonicalBytes } from '#bundles/json/canonical';
import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { type Delta, type Medium, type OpenOptions, parseMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { readPatch } from '#bundles/formats/medium/read-patch';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { formatTime } from '#bundles/time';
import { inspectMedium } from '../../../../exporter/verify/inspect/inspect-medium.ts';
import { verifyMedium } from '../../../../exporter/verify/verify-medium.ts';
import { NOW, newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { type TestBundle, writeReport } from '../../../harness/fleets/signed-layout.ts';
import { filesOf } from '../../files-of.ts';
import { refused } from '../../refused.ts';
import { GATE, KIOSK, makeKioskWorld, type World } from '../../world.ts';
import { makeSetWorld } from '../../write/set-world.ts';

/** Bytes that no compressor makes smaller, the same each time. */
const noise = (length: number, seed: number): Buffer => {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
};

const base = noise(90_000, 1);
/** Everything of the base but a few bytes, and something of its own. */
const changed = (text: string): Buffer =>
  Buffer.concat([base.subarray(0, 40_000), Buffer.from(text), base.subarray(40_010)]);

const bundleWith = (layer: Buffer, text: string): TestBundle => ({
  kind: 'host',
  packages: { web: { 'app.bin': layer.toString('latin1'), 'app.txt': text } },
});

const imageWith = (...layers: readonly Buffer[]): TestBundle => ({
  kind: 'kubernetes',
  packages: { web: { 'app.yaml': `image: ${digestOf(Buffer.concat(layers))}\n` } },
  images: [{ name: 'web', layers }],
});

/** Release 2 with one bundle, release 3 with the other; a report that says the first is held. */
const twoReleases = async (
  world: World,
  first: TestBundle,
  next: TestBundle,
): Promise<{ readonly held: Digest; readonly bases: readonly string[] }> => {
  const [held] = await world.layout.release({ channel: KIOSK, version: 2, bundles: [first] });
  const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, [held as Digest]);
  await writeFile(world.path('report.json'), statement);
  await world.layout.release({ channel: KIOSK, version: 3, bundles: [next] });
  return { held: held as Digest, bases: [world.path('report.json')] };
};

const mediumAt = async (path: string): Promise<Medium> =>
  parseMedium(await readFile(join(path, 'fleet/medium.json')));

describe('a medium with patches', () => {
  it('carries a patch for a layer that is similar to the former one, and names its base', async () => {
    await using world = await makeKioskWorld();
    const { held, bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    const { plan } = await world.export('stick', { bases, binaryDeltas: true });
    const { deltas, bundles, critical } = await mediumAt(world.path('stick'));
    expect(deltas).toMatchObject([
      { digest: digestOf(changed('new')), size: 89_993, base: digestOf(base), form: 'plain' },
    ]);
    expect(bundles[0]?.assumed).toContainEqual({ digest: digestOf(changed('new')), size: 89_993 });
    expect(bundles[0]?.base).toEqual([held]);
    // Who knows nothing of patches would ask for what it could make.
    expect(critical).toEqual(['deltas']);
    expect(plan.deltas).toMatchObject({ count: 1, whole: 89_993 });
    expect(plan.deltas?.bytes).toBeLessThan(200);
    expect(plan.bundles[0]?.why.at(-1)).toBe('1 blob as a patch');
    // What is not on it whole is not promised to skopeo.
    expect(plan.index.map(({ mediaType }) => mediaType)).toHaveLength(1);
    await using medium = await openMedium(world.path('stick'));
    expect(await medium.blobs.size(digestOf(changed('new')))).toBeUndefined();
    const patch = await medium.readFile(deltas?.[0]?.patch.path ?? '', 1 << 20);
    const read = async (at: number, length: number) => base.subarray(at, at + length);
    const made = Buffer.concat(await Array.fromAsync(applyPatch([patch], { size: base.length, read })));
    expect(made.equals(changed('new'))).toBe(true);
  });

  it('carries a patch for the packed layer of a host package, also in a tar', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, bundleWith(base, 'one'), bundleWith(changed('x'), 'two'));
    await world.export('stick.tar', { bases, binaryDeltas: true });
    await using medium = await openMedium(world.path('stick.tar'));
    expect(medium.medium?.deltas).toMatchObject([{ form: 'gzip' }]);
    const { patch } = medium.medium?.deltas?.[0] ?? { patch: { path: '', digest: '' } };
    expect(digestOf(await medium.readFile(patch.path, 1 << 20))).toBe(patch.digest);
  });

  it('has the same patches each time, and removes those that it no longer names', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    for (const name of ['a', 'b']) await world.export(name, { bases, binaryDeltas: true });
    expect(filesOf(world.path('a'))).toEqual(filesOf(world.path('b')));
    await writeFile(world.path('a/fleet/deltas/mine.txt'), 'left alone');
    await world.export('a', { bases });
    expect(await readdir(world.path('a/fleet/deltas'))).toEqual(['mine.txt']);
    expect((await mediumAt(world.path('a'))).deltas).toBeUndefined();
  });

  it('carries a blob whole when it has no similar base, is small, or not all agents have the base', async () => {
    await using world = await makeKioskWorld();
    const other = await twoReleases(world, imageWith(base), imageWith(noise(90_000, 2), noise(700, 3)));
    expect((await world.plan({ bases: other.bases, binaryDeltas: true })).plan.deltas).toBeUndefined();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    expect((await world.plan({ bases })).plan.deltas).toBeUndefined();
    const agents = ['line-1', 'line-2'].map((name, index) => ({
      name,
      channel: KIOSK,
      key: index === 0 ? world.agent : newSigningKey(),
    }));
    await world.layout.site({ site: 'plant-7', version: 2, agents });
    expect((await world.plan({ bases, binaryDeltas: true })).plan.deltas).toBeUndefined();
  });

  it('carries a blob whole that an import asked for, because the patch may have failed', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    await world.export('stick', { bases, binaryDeltas: true });
    const missing = [digestOf(changed('new'))];
    const needs = { fleet: 'acme', agent: 'plant-7/line-1', missing, holds: [], at: formatTime(NOW) };
    await mkdir(world.path('stick/fleet/requests'), { recursive: true });
    await writeFile(world.path('stick/fleet/requests/abc-needs.json'), canonicalBytes(needs));
    const { plan } = await world.export('stick', { bases, binaryDeltas: true });
    expect(plan.deltas).toBeUndefined();
    expect(await readdir(world.path('stick/blobs/sha256'))).toContain(hexOf(digestOf(changed('new'))));
  });
});

describe('patches for hosts of two architectures', () => {
  const armBase = noise(90_000, 11);
  const arm = (layer: Buffer): Buffer =>
    Buffer.concat([layer.subarray(0, 50_000), Buffer.from('fix'), layer.subarray(50_000)]);
  const image = (architecture: string, ...layers: readonly Buffer[]): TestBundle => ({
    kind: 'host',
    packages: { web: { 'web.container': `Image=web@${digestOf(Buffer.concat(layers))}\n` } },
    images: [{ name: 'web', architecture, layers }],
  });
  /** Layers of line-1, which is amd64 on prod/kiosk, and of line-2, arm64 on prod/gate. */
  type Layers = { readonly amd: readonly Buffer[]; readonly arm: readonly Buffer[] };

  /** Both hosts hold release 2, and release 3 is there. */
  const mixed = async (first: Layers, next: Layers) => {
    const world = await makeKioskWorld();
    const gate = newSigningKey();
    await world.layout.site({
      site: 'plant-7',
      version: 2,
      agents: [
        { name: 'line-1', channel: KIOSK, key: world.agent },
        { name: 'line-2', channel: GATE, key: gate },
      ],
    });
    const release = async (version: number, layers: Layers) => [
      ...(await world.layout.release({ channel: KIOSK, version, bundles: [image('amd64', ...layers.amd)] })),
      ...(await world.layout.release({ channel: GATE, version, bundles: [image('arm64', ...layers.arm)] })),
    ];
    const kept = await release(2, first);
    const keys = [world.agent, gate];
    const bases = await Promise.all(
      kept.map(async (held, at) => {
        const { statement } = await writeReport('acme', `plant-7/line-${at + 1}`, keys[at] ?? gate, [held]);
        await writeFile(world.path(`report-${at}.json`), statement);
        return world.path(`report-${at}.json`);
      }),
    );
    await release(3, next);
    return { world, order: { bases, binaryDeltas: true } };
  };
  const onMedium = async (path: string) => {
    const { deltas = [], bundles } = await mediumAt(path);
    return {
      patches: new Map(deltas.map(({ digest, base }) => [digest, base])),
      /** What each bundle leaves to a patch. */
      left: bundles.map(({ assumed }) =>
        assumed.map(({ digest }) => digest).filter((digest) => deltas.some((one) => one.digest === digest)),
      ),
    };
  };

  it('are made for each from the image that its own hosts hold, and go only onto media for them', async () => {
    const next = { amd: changed('new'), arm: arm(armBase) };
    const { world, order } = await mixed(
      { amd: [base], arm: [armBase] },
      { amd: [next.amd], arm: [next.arm] },
    );
    await using _ = world;
    await world.export('both', order);
    const both = await onMedium(world.path('both'));
    expect(both.patches).toEqual(
      new Map([
        [digestOf(next.amd), digestOf(base)],
        [digestOf(next.arm), digestOf(armBase)],
      ]),
    );
    await world.export('arm', { ...order, channels: [GATE] });
    const alone = await onMedium(world.path('arm'));
    expect(alone.patches).toEqual(new Map([[digestOf(next.arm), digestOf(armBase)]]));
    expect(alone.left).toEqual([[digestOf(next.arm)]]);
    expect(both.left).toHaveLength(2);
    expect(both.left).toEqual(expect.arrayContaining([[digestOf(next.amd)], [digestOf(next.arm)]]));
  });

  it('are not made from an image that only hosts of the other architecture hold, although it is similar', async () => {
    const { world, order } = await mixed(
      { amd: [base], arm: [armBase] },
      { amd: [base], arm: [changed('built again')] },
    );
    await using _ = world;
    await world.export('stick', order);
    expect((await onMedium(world.path('stick'))).patches.size).toBe(0);
    expect(await readdir(world.path('stick/blobs/sha256'))).toContain(
      hexOf(digestOf(changed('built again'))),
    );
  });

  it('are made once for a layer that both images have', async () => {
    const { world, order } = await mixed(
      { amd: [base, noise(700, 3)], arm: [base, noise(700, 4)] },
      { amd: [changed('data'), noise(700, 3)], arm: [changed('data'), noise(700, 4)] },
    );
    await using _ = world;
    await world.export('stick', order);
    expect((await onMedium(world.path('stick'))).patches).toEqual(
      new Map([[digestOf(changed('data')), digestOf(base)]]),
    );
  });
});

describe('a set of parts with patches', () => {
  /** 70 KB of news beside what is patched, for two parts of 45 KB. */
  const fill = async (sticks: readonly string[]) => {
    const world = await makeSetWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new'), noise(70_000, 5)));
    const exported = await world.exportSet(sticks, { partSize: 45_000 }, { bases, binaryDeltas: true });
    return { world, exported, bases };
  };

  it('stores each patch as one blob of its parts, from which the layer can be made', async () => {
    const { world, exported } = await fill(['stick']);
    await using _ = world;
    await using medium = await openMedium(world.path('stick'));
    const { deltas = [], parts = [] } = medium.medium ?? {};
    expect(deltas).toHaveLength(1);
    expect(parts.length).toBeGreaterThan(1);
    const [{ digest, patch }] = deltas as [Delta];
    expect(digest).toBe(digestOf(changed('new')));
    expect(parts.filter(({ files }) => files.includes(patch.path))).toHaveLength(1);
    const found = await readPatch(medium, deltas[0] as Delta);
    const read = async (at: number, length: number) => base.subarray(at, at + length);
    const made = await Array.fromAsync(applyPatch([found], { size: base.length, read }));
    expect(Buffer.concat(made).equals(changed('new'))).toBe(true);
    const { checks, ok } = await verifyMedium(medium, undefined, NOW);
    expect(ok).toBe(true);
    expect(checks.find(({ what }) => what === 'deltas')?.message).toBe('1 patch, each with its digest');
    const { filled } = await inspectMedium(medium);
    expect(filled).toMatchObject({ patched: 1, bundles: [{ assumedBlobs: 0 }] });
    // On the stick there is nothing beside the parts that names or is a patch.
    expect(Object.keys(filesOf(world.path('stick'))).filter((path) => path.includes('deltas'))).toEqual([]);
    expect(exported.set?.count).toBe(parts.length);
  });

  it('has the same digest when it is made again on another medium', async () => {
    const { world, exported, bases } = await fill(['stick']);
    await using _ = world;
    const again = await world.exportSet(['other'], { partSize: 45_000 }, { bases, binaryDeltas: true });
    expect(again.set?.set).toBe(exported.set?.set);
  });

  it('finds the part of each patch also when only one part is present', async () => {
    const { world } = await fill(['stick']);
    await using _ = world;
    const numbers = async (path: string) => {
      await using medium = await openMedium(path);
      const patch = medium.medium?.deltas?.[0]?.patch.digest as Digest;
      return { own: medium.parts?.partOf(patch) ?? [], all: medium.parts?.here ?? [] };
    };
    const { own, all } = await numbers(world.path('stick'));
    for (const { number, path } of all) {
      await mkdir(world.path(`part-${number}`));
      await cp(path, join(world.path(`part-${number}`), basename(path)));
      await using alone = await openMedium(world.path(`part-${number}`));
      const { ok, checks } = await verifyMedium(alone, undefined, NOW, undefined, { partial: true });
      expect(ok).toBe(true);
      const [said] = checks.filter(({ what }) => what === 'deltas');
      expect(said?.message).toMatch(own.includes(number) ? /^1 patch/ : /^0 patches/);
    }
  });

  it('can be sealed like any other set', async () => {
    await using world = await makeSetWorld();
    const { identity, recipient } = await generateAgeIdentity();
    const agents = [{ name: 'line-1', channel: KIOSK, key: world.agent, recipient }];
    await world.layout.site({ site: 'plant-7', version: 2, agents });
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    await world.exportSet(['stick'], { partSize: 45_000 }, { bases, binaryDeltas: true, sealTo: [] });
    const unseal: OpenOptions['unseal'] = async (bytes) => openAge(bytes, [identity]);
    await using medium = await openMedium(world.path('stick'), { unseal });
    expect(medium.parts?.sealed).toBe(true);
    expect(digestOf(await readPatch(medium, medium.medium?.deltas?.[0] as Delta))).toBe(
      medium.medium?.deltas?.[0]?.patch.digest,
    );
  });

  it('carries a blob whole when its patch would be too long for a part', async () => {
    const half = Buffer.concat([base.subarray(0, 50_000), noise(40_000, 7)]);
    await using world = await makeSetWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(half));
    const order = { bases, binaryDeltas: true };
    expect((await world.plan(order)).plan.deltas?.bytes).toBeGreaterThan(40_000);
    expect((await world.plan({ ...order, maxPatch: 22_500 })).plan.deltas).toBeUndefined();
    expect(await refused(world.exportSet(['stick'], { partSize: 45_000 }, order))).toBe('USAGE');
  });
});
