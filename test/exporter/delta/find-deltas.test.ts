import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/canonical';
import { applyPatch } from '#bundles/delta/apply-patch';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { type Medium, parseMedium } from '#bundles/medium/medium';
import { openMedium } from '#bundles/medium/open-medium';
import { formatTime } from '#bundles/time';
import { NOW, newSigningKey } from '../../harness/signed-fleet.ts';
import { type TestBundle, writeReport } from '../../harness/signed-layout.ts';
import { filesOf } from '../files-of.ts';
import { refused } from '../refused.ts';
import { KIOSK, makeKioskWorld, type World } from '../world.ts';

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
  it('carries a patch for a layer that is much like the one before, and names what it is made of', async () => {
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

  it('does the same for the packed layer of a host package, and in a tar', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, bundleWith(base, 'one'), bundleWith(changed('x'), 'two'));
    await world.export('stick.tar', { bases, binaryDeltas: true });
    await using medium = await openMedium(world.path('stick.tar'));
    expect(medium.medium?.deltas).toMatchObject([{ form: 'gzip' }]);
    const { patch } = medium.medium?.deltas?.[0] ?? { patch: { path: '', digest: '' } };
    expect(digestOf(await medium.readFile(patch.path, 1 << 20))).toBe(patch.digest);
  });

  it('is the same each time, and the next one takes away the patches that it does not name', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    for (const name of ['a', 'b']) await world.export(name, { bases, binaryDeltas: true });
    expect(filesOf(world.path('a'))).toEqual(filesOf(world.path('b')));
    await writeFile(world.path('a/fleet/deltas/mine.txt'), 'left alone');
    await world.export('a', { bases });
    expect(await readdir(world.path('a/fleet/deltas'))).toEqual(['mine.txt']);
    expect((await mediumAt(world.path('a'))).deltas).toBeUndefined();
  });

  it('carries whole what is not like anything the site has, is small, or is not held by everybody', async () => {
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

  it('carries whole what an import asked for: the patch may be what failed', async () => {
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

  it('is no set of parts and not encrypted', async () => {
    await using world = await makeKioskWorld();
    const { bases } = await twoReleases(world, imageWith(base), imageWith(changed('new')));
    const more = { bases, binaryDeltas: true, alsoTo: [world.path('other')] };
    expect(await refused(world.plan(more))).toBe('USAGE');
  });
});
