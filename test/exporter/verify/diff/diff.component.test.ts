import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { createPatch } from '#bundles/formats/delta/create-patch';
import { type Digest, digestOf, hexOf, shortDigest } from '#bundles/digest';
import { type Delta, MEDIUM_FILE, parseMedium } from '#bundles/formats/medium/medium';
import { compareSides, type SidesDiff } from '../../../../exporter/verify/diff/compare-sides.ts';
import { formatDiff } from '../../../../exporter/verify/diff/format-diff.ts';
import { openPlace, sideOfSource } from '../../../../exporter/verify/diff/open-side.ts';
import type { Side } from '../../../../exporter/verify/diff/side.ts';
import { siteSide } from '../../../../exporter/verify/diff/site-side.ts';
import { openSource } from '../../../../exporter/source/open-source.ts';
import { NOW, newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { type TestBundle, writeReport } from '../../../harness/fleets/signed-layout.ts';
import { refused } from '../../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../../world.ts';
import { makeSetWorld } from '../../write/set-world.ts';

const OPTIONS = {
  open: {},
  access: { plainHttp: [], caFile: undefined, authFile: undefined, env: {} },
  now: NOW,
};

const sideAt = async (path: string, channels?: readonly string[]): Promise<Side> => {
  const place = await openPlace(path, OPTIONS);
  return place.kind === 'medium' ? place.side : sideOfSource(place.source, channels, OPTIONS);
};

const diff = async (world: World, before: string, after: string): Promise<SidesDiff> => {
  await using left = await sideAt(world.path(before));
  await using right = await sideAt(world.path(after));
  return await compareSides(left, right, undefined);
};

const release = (world: World, version: number, bundle: TestBundle) =>
  world.layout.release({ channel: KIOSK, version, bundles: [bundle] });

const objects = (packages: TestBundle['packages']): TestBundle => ({ kind: 'kubernetes', packages });

/** 140 KB that pack badly; one line of it is the version. */
const textOf = (version: string): string =>
  Array.from({ length: 2000 }, (_, line) => digestOf(line === 1000 ? version : `line ${line}`)).join('\n');

const yaml = (kind: string, name: string, rest: string): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${rest}`;

describe('the difference between two media', () => {
  it('is empty for the same content in another form', async () => {
    await using world = await makeKioskWorld();
    await world.export('one', { sites: ['plant-7'] });
    await world.export('two.tar', { sites: ['plant-7'] });
    const found = await diff(world, 'one', 'two.tar');
    expect([found.same, found.unchanged, found.bytes]).toEqual([true, ['prod/kiosk'], 0]);
  });

  it('has releases, packages, images, objects as text, and the bytes to transfer', async () => {
    await using world = await makeKioskWorld();
    await world.export('one');
    const [next] = await release(world, 2, bundleOf('two'));
    const { plan } = await world.export('two', { bases: [world.path('one')] });
    const found = await diff(world, 'one', 'two');
    expect(found.channels).toEqual([
      expect.objectContaining({ channel: 'prod/kiosk', release: { before: 1, after: 2 } }),
    ]);
    const [bundle] = found.channels[0]?.bundles ?? [];
    expect([bundle?.before, bundle?.after]).toEqual([world.first, next]);
    expect(bundle?.packages.map(({ assignment, outcome }) => [assignment, outcome])).toEqual([
      ['web', 'configured'],
    ]);
    expect(bundle?.packages[0]?.objects[0]?.diff).toContain('-text: one\n+text: two\n');
    expect(bundle?.images.map(({ image, outcome }) => [image, outcome])).toEqual([
      ['registry.test/web', 'configured'],
    ]);
    // The layer that both share is on the first alone, and does not travel.
    expect(found.bytes).toBeLessThan(5000);
    expect(found.bytes).toBe(plan.bundles[0]?.carried);
  });

  it('takes the media of a set separated by commas, on either side', async () => {
    await using world = await makeSetWorld();
    await world.export('whole', { sites: ['plant-7'] });
    const sticks = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { set } = await world.exportSet(sticks, { partSize: 40_000, stickSizes: [40_000] });
    const used = sticks.slice(0, set?.sticks).map((stick) => world.path(stick));
    expect(used.length).toBeGreaterThan(1);
    const all = used.join(',');
    for (const [left, right] of [
      [world.path('whole'), all],
      [all, world.path('whole')],
    ] as const) {
      await using before = await sideAt(left);
      await using after = await sideAt(right);
      expect((await compareSides(before, after, undefined)).same).toBe(true);
    }
    // What has such a name of its own is one place.
    await world.export('one,two', { sites: ['plant-7'] });
    expect((await diff(world, 'whole', 'one,two')).same).toBe(true);
  });

  it('counts the bytes of a patch instead of its blob', async () => {
    await using world = await makeKioskWorld();
    const layerOf = (version: string): TestBundle => ({
      kind: 'kubernetes',
      packages: { web: { 'app.yaml': `text: ${version}\n` } },
      images: [{ name: 'web', layers: [Buffer.from(textOf(version))] }],
    });
    await release(world, 2, layerOf('one'));
    await world.export('one');
    await release(world, 3, layerOf('two'));
    const { plan } = await world.export('two', { bases: [world.path('one')], binaryDeltas: true });
    expect(plan.deltas?.count).toBe(1);
    const found = await diff(world, 'one', 'two');
    expect([found.bytes, found.patched]).toEqual([plan.bundles[0]?.carried, 1]);
    expect(found.channels[0]?.bytes).toBe(found.bytes);
    expect(formatDiff(found)).toContain(', with 1 blob as a patch.');
  });

  describe('of a layer that is a patch', () => {
    /** Media `one` and `two`, of which the second has a patch for the layer of its package. */
    const patched = async (world: World): Promise<{ readonly delta: Delta }> => {
      await release(world, 2, objects({ web: { 'a.txt': textOf('one') } }));
      await world.export('one');
      await release(world, 3, objects({ web: { 'a.txt': textOf('two') } }));
      await world.export('two', { bases: [world.path('one')], binaryDeltas: true });
      const { deltas = [] } = parseMedium(await readFile(world.path('two', MEDIUM_FILE)));
      expect(deltas).toHaveLength(1);
      return { delta: deltas[0] as Delta };
    };
    const packageOf = ({ channels }: SidesDiff) => channels[0]?.bundles[0]?.packages[0];

    it('compares the content of a patched layer when either side has the base', async () => {
      await using world = await makeKioskWorld();
      await patched(world);
      for (const [before, after] of [
        ['one', 'two'],
        ['two', 'one'],
      ] as const) {
        const found = packageOf(await diff(world, before, after));
        expect(found?.note).toBeUndefined();
        const [gone, come] = before === 'one' ? ['one', 'two'] : ['two', 'one'];
        expect(found?.objects[0]?.diff).toContain(`-${digestOf(gone)}\n+${digestOf(come)}\n`);
      }
    });

    it('is reported by digest when neither side has the base, and names the missing base', async () => {
      await using world = await makeKioskWorld();
      await world.export('old');
      const { delta } = await patched(world);
      expect(packageOf(await diff(world, 'old', 'two'))).toMatchObject({
        objects: [],
        note: `its layer comes as a patch of ${shortDigest(delta.base)}, which is on neither side: only its digest is compared`,
      });
    });

    it('is reported by digest when the patch does not make the layer', async () => {
      await using world = await makeKioskWorld();
      const { delta } = await patched(world);
      const lie = await createPatch(Buffer.from('something'), Buffer.from('that nobody wants'), 1000);
      const bytes = lie?.bytes ?? Buffer.alloc(0);
      await writeFile(world.path('two', delta.patch.path), bytes);
      const file = world.path('two', MEDIUM_FILE);
      const patch = { ...delta.patch, size: bytes.byteLength, digest: digestOf(bytes) };
      const contents = parseMedium(await readFile(file));
      await writeFile(file, canonicalBytes({ ...contents, deltas: [{ ...delta, patch }] }));
      expect(packageOf(await diff(world, 'one', 'two'))).toMatchObject({
        objects: [],
        note: 'the patch does not yield its layer: only its digest is compared',
      });
    });
  });

  it('compares objects by identity, independent of their file, and never shows the values of a Secret', async () => {
    await using world = await makeKioskWorld();
    const secret = (value: string) => yaml('Secret', 'door', `stringData:\n  code: ${value}\n`);
    const map = (value: string) => yaml('ConfigMap', 'shop', `data:\n  colour: ${value}\n`);
    await release(world, 2, objects({ web: { 'a.yaml': map('red'), 'b.yaml': secret('1234') } }));
    await world.export('one');
    await release(world, 3, objects({ web: { 'all.yaml': `${map('blue')}---\n${secret('9876')}` } }));
    await world.export('two');
    const found = await diff(world, 'one', 'two');
    const text = formatDiff(found);
    expect(text).toContain('--- a/prod/kiosk/web/ConfigMap shop');
    expect(text).toContain('-  colour: red\n+  colour: blue');
    expect(text).toContain('Secret door');
    expect(`${text}${JSON.stringify(found)}`).not.toMatch(/1234|9876/);
  });

  it('has added and removed packages, and a channel that only one medium has', async () => {
    await using world = await makeKioskWorld();
    await release(world, 2, objects({ web: { 'a.txt': 'same\n' }, old: { 'b.txt': 'gone\n' } }));
    await world.export('one');
    await release(world, 3, objects({ web: { 'a.txt': 'same\n' }, young: { 'c.txt': 'new\n' } }));
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    await world.export('two');
    const found = await diff(world, 'one', 'two');
    const packages = found.channels.flatMap(({ bundles }) => bundles).flatMap((bundle) => bundle.packages);
    expect(packages.map(({ assignment, outcome }) => [assignment, outcome])).toEqual([
      ['web', 'created'],
      ['old', 'deleted'],
      ['young', 'created'],
    ]);
    expect(found.channels.map(({ channel, release: of }) => [channel, of.before, of.after])).toEqual([
      ['prod/gate', undefined, 1],
      ['prod/kiosk', 2, 3],
    ]);
  });

  it('escapes control characters of the content', async () => {
    await using world = await makeKioskWorld();
    await world.export('one');
    await release(world, 2, objects({ web: { 'a.txt': 'x\u001b[2J\u0007\n' } }));
    await world.export('two');
    const text = formatDiff(await diff(world, 'one', 'two'));
    expect(text).toContain('\\u001b[2J');
    expect(text).not.toContain('\u001b');
  });

  it('of a layer that neither medium has is reported by digest', async () => {
    await using world = await makeKioskWorld();
    await world.export('one');
    const [next] = await release(world, 2, bundleOf('two'));
    await world.export('two');
    const blob = (digest: Digest) => world.path('two/blobs/sha256', hexOf(digest));
    const manifest = JSON.parse(await readFile(blob(next as Digest), 'utf8')) as {
      layers: readonly { digest: Digest }[];
    };
    for (const { digest } of manifest.layers) await rm(blob(digest));
    const found = await diff(world, 'one', 'two');
    expect(found.channels[0]?.bundles[0]?.packages).toEqual([
      expect.objectContaining({ assignment: 'web', objects: [], note: expect.stringContaining('digest') }),
    ]);
  });
});

describe('the difference between a site and a medium', () => {
  const site = async (world: World, report: string, name = 'plant-7'): Promise<Side> =>
    siteSide(await openSource(world.path('layout')), { site: name, report, open: {}, now: NOW });

  it('is that between the report of the site and the medium', async () => {
    await using world = await makeKioskWorld();
    const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, [world.first]);
    await writeFile(world.path('report.json'), statement);
    await world.export('first', { sites: ['plant-7'] });
    {
      await using there = await site(world, world.path('report.json'));
      await using stick = await sideAt(world.path('first'));
      expect((await compareSides(there, stick, undefined)).same).toBe(true);
    }
    await using there = await site(world, world.path('report.json'));
    await release(world, 2, bundleOf('two'));
    await world.export('second', { sites: ['plant-7'] });
    await using stick = await sideAt(world.path('second'));
    const found = await compareSides(there, stick, undefined);
    expect(found.channels.map(({ release: of }) => [of.before, of.after])).toEqual([[1, 2]]);
    expect(found.bytes).toBeLessThan(5000);
  });

  it('is refused for a report with an unknown key, and for a site without a report', async () => {
    await using world = await makeKioskWorld();
    const forged = await writeReport('acme', 'plant-7/line-1', newSigningKey(), [world.first]);
    await writeFile(world.path('forged.json'), forged.statement);
    expect(await refused(site(world, world.path('forged.json')))).toBe('UNKNOWN_KEY');
    const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, [world.first]);
    await writeFile(world.path('report.json'), statement);
    expect(await refused(site(world, world.path('report.json'), 'plant-8'))).toBe('MEDIUM_EMPTY');
  });
});
