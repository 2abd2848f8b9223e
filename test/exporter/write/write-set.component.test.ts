import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { fileCursor } from '#bundles/formats/archive/file-cursor';
import { openFileAccess } from '#bundles/formats/archive/open-file-access';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { readTar } from '#bundles/formats/archive/read-tar';
import { digestOf } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { digestsOf, filesOf } from '../files-of.ts';
import { refused } from '../refused.ts';
import { bundleOf, KIOSK } from '../world.ts';
import { makeSetWorld, PART, type SetWorld } from './set-world.ts';

const second = (world: SetWorld) =>
  world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });

/** undefined: not filled yet. What is filled must be right in every detail. */
const releaseOn = async (...paths: readonly string[]): Promise<number | undefined> => {
  await using open = await openMedium(paths);
  if (!open.medium) return undefined;
  const { checks } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  return open.medium.documents.find(({ role }) => role === 'release')?.version;
};

const partsOn = (stick: string): readonly string[] =>
  existsSync(`${stick}/fleet/parts`) ? readdirSync(`${stick}/fleet/parts`).toSorted() : [];

/** Paths and contents of a tar, in its order. */
const entriesOf = async (path: string): Promise<ReadonlyMap<string, Buffer>> => {
  const entries = new Map<string, Buffer>();
  await using bytes = await openFileAccess(path);
  for await (const { path: name, content } of readTar(fileCursor(bytes, bytes.size), { maxEntries: 1000 }))
    entries.set(name, Buffer.concat(await Array.fromAsync(content)));
  return entries;
};

describe('a medium as a set of parts', () => {
  it('has all files in parts within their limit, and is verified like any other medium', async () => {
    await using world = await makeSetWorld();
    const { set, written } = await world.exportSet(['stick']);
    expect(set?.count).toBeGreaterThan(1);
    expect(partsOn(world.path('stick'))).toEqual(set?.parts.map(({ path }) => basename(path)));
    for (const { path, size } of set?.parts ?? []) {
      expect(size).toBeLessThanOrEqual(PART);
      expect(readFileSync(path).byteLength).toBe(size);
    }
    const files = filesOf(world.path('stick'));
    expect(written).toBe([...files.values()].reduce((sum, bytes) => sum + bytes.byteLength, 0));
    for (const path of files.keys()) expect(path).toMatch(/^(?:[a-z0-9._/-]{1,100}|fleet\/SHA256SUMS)$/);
    expect(await releaseOn(world.path('stick'))).toBe(1);
  });

  it('begins each part with its label, the layout, the table of contents and the shared files', async () => {
    await using world = await makeSetWorld();
    const { set } = await world.exportSet(['stick']);
    const head = ['fleet/part.json', 'oci-layout', 'index.json', 'fleet/medium.json'];
    const listings = await Promise.all((set?.parts ?? []).map(({ path }) => entriesOf(path)));
    const table = JSON.parse(listings[0]?.get('fleet/medium.json')?.toString() ?? '{}');
    expect(digestOf(listings[0]?.get('fleet/medium.json') ?? '')).toBe(set?.set);
    expect(table.createdAt).toBe('2026-11-20T08:00:00Z');
    const shared = [...(listings[0]?.keys() ?? [])].filter((path) => !table.parts[0].files.includes(path));
    expect(shared.length).toBeGreaterThan(head.length + 3);
    for (const [at, entries] of listings.entries()) {
      const label = { count: set?.count, format: 1, number: at + 1, set: set?.set };
      expect(entries.get('fleet/part.json')?.toString()).toBe(JSON.stringify(label));
      expect([...entries.keys()].slice(0, 4)).toEqual(head);
      expect([...entries.keys()]).toEqual([...shared, ...table.parts[at].files]);
    }
  });

  it('has the same bytes on another day and another medium', async () => {
    await using world = await makeSetWorld();
    await world.exportSet(['one']);
    await world.exportSet(['two'], {}, { now: new Date(NOW.getTime() + 86_400_000) });
    expect(digestsOf(world.path('two'))).toEqual(digestsOf(world.path('one')));
  });

  it('lists its parts with their digests, in JSON and for sha256sum', async () => {
    await using world = await makeSetWorld();
    await world.exportSet(['stick']);
    const list = JSON.parse(readFileSync(world.path('stick/fleet/parts.json'), 'utf8'));
    const sums = readFileSync(world.path('stick/fleet/SHA256SUMS'), 'utf8').split('\n').slice(0, -1);
    expect(list).toMatchObject({ format: 1, sealed: false, count: list.parts.length });
    expect(list.replaced).toBeUndefined();
    for (const [at, { path, digest, size }] of list.parts.entries()) {
      const bytes = readFileSync(world.path('stick', path));
      expect([digest, size]).toEqual([digestOf(bytes), bytes.byteLength]);
      expect(sums[at]).toBe(`${digest.slice(7)}  parts/${basename(path)}`);
    }
  });

  it('is not changed by a second run', async () => {
    await using world = await makeSetWorld();
    await world.exportSet(['stick']);
    const before = digestsOf(world.path('stick'));
    const again = await world.exportSet(['stick'], {}, { now: new Date(NOW.getTime() + 60_000) });
    expect(again).toMatchObject({ written: 0, removed: 0, changes: [] });
    expect(digestsOf(world.path('stick'))).toEqual(before);
  });

  it('has a damaged part written again, and no other part', async () => {
    await using world = await makeSetWorld();
    const { set } = await world.exportSet(['stick']);
    const before = digestsOf(world.path('stick'));
    const bad = set?.parts[1]?.path ?? '';
    await writeFile(bad, Buffer.alloc(readFileSync(bad).byteLength));
    const again = await world.exportSet(['stick']);
    expect(again.written).toBe(set?.parts[1]?.size);
    expect(digestsOf(world.path('stick'))).toEqual(before);
  });

  it('resumes at the next part after an interruption, although sealed parts differ each time', async () => {
    await using world = await makeSetWorld();
    const identity = await generateIdentity();
    const order = { sites: [], sealTo: [await identityToRecipient(identity)] };
    const unseal = (bytes: RandomAccess) => openAge(bytes, [identity]);
    const stop = new AbortController();
    const onBytes = (): void => {
      if (partsOn(world.path('stick')).includes('progress.json') && partsOn(world.path('stick')).length > 3)
        stop.abort();
    };
    await expect(
      world.exportSet(['stick'], {}, order, { onBytes, signal: stop.signal }),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
    const finished = [...filesOf(world.path('stick/fleet/parts'))].filter(([name]) => name.endsWith('.age'));
    expect(finished.length).toBeGreaterThan(0);
    await using unfilled = await openMedium(world.path('stick'), { unseal });
    expect(unfilled.medium).toBeUndefined();
    const { set, written } = await world.exportSet(['stick'], {}, order);
    const after = filesOf(world.path('stick/fleet/parts'));
    expect(after.size).toBe(set?.count);
    for (const [name, bytes] of finished) expect(after.get(name)?.equals(bytes)).toBe(true);
    await using open = await openMedium(world.path('stick'), { unseal });
    expect(open.parts).toMatchObject({ sealed: true, missing: [], set: set?.set });
    expect((await verifyMedium(open, undefined, NOW)).ok).toBe(true);
    expect((await world.exportSet(['stick'], {}, order)).written).toBe(0);
    expect(written).toBeGreaterThan(0);
  });

  it('goes onto several media, each with its own parts, which together are the medium', async () => {
    await using world = await makeSetWorld();
    const { set } = await world.exportSet(['a', 'b', 'c'], { stickSizes: [2 * PART] });
    expect(set?.sticks).toBeGreaterThan(1);
    const sticks = ['a', 'b', 'c'].slice(0, set?.sticks).map((name) => world.path(name));
    const bytesOn = (stick: string) =>
      [...filesOf(`${stick}/fleet/parts`).values()].reduce((sum, { length }) => sum + length, 0);
    for (const stick of sticks) expect(bytesOn(stick)).toBeLessThanOrEqual(2 * PART);
    expect(sticks.flatMap(partsOn)).toHaveLength(set?.count ?? 0);
    expect(await releaseOn(...sticks)).toBe(1);
    expect(await releaseOn(...sticks.toReversed())).toBe(1);
    await using open = await openMedium(sticks[0] ?? '');
    expect(open.parts?.missing.length).toBeGreaterThan(0);
  });

  it('is refused with the number of media it needs, or written to them one after the other', async () => {
    await using world = await makeSetWorld();
    const stickSizes = [2 * PART];
    await expect(world.exportSet(['a'], { stickSizes })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/need \d sticks/),
    });
    const { set } = await world.exportSet(['a', 'b'], { stickSizes });
    for (let stick = 1; stick <= (set?.sticks ?? 0); stick += 1)
      await world.exportSet([`s${stick}`], { stickSizes, stick });
    expect(digestsOf(world.path('s1'))).toEqual(digestsOf(world.path('a')));
    expect(digestsOf(world.path('s2'))).toEqual(digestsOf(world.path('b')));
    expect(await refused(world.exportSet(['s9'], { stickSizes, stick: 9 }))).toBe('USAGE');
  });

  it('refuses to write a medium of the set over another medium of it', async () => {
    await using world = await makeSetWorld();
    const stickSizes = [2 * PART];
    await world.exportSet(['s1'], { stickSizes, stick: 1 });
    const before = digestsOf(world.path('s1'));
    await expect(world.exportSet(['s1'], { stickSizes, stick: 2 })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/is stick 1 of this set, not stick 2$/),
    });
    expect(digestsOf(world.path('s1'))).toEqual(before);
    expect((await world.exportSet(['s1'], { stickSizes, stick: 1 })).written).toBe(0);
  });

  it('waits for the next medium at the same path, and refuses one of the same set', async () => {
    await using world = await makeSetWorld();
    const asked: (string | undefined)[] = [];
    const { set } = await world.exportSet(['place'], {
      stickSizes: [2 * PART],
      askForVolume: async ({ stick, because }) => {
        asked.push(because);
        if (asked.length === 1) return;
        await rename(world.path('place'), world.path(`was-${stick - 1}`));
        await mkdir(world.path('place'));
      },
    });
    expect(asked.slice(0, 2)).toEqual([undefined, 'this is stick 1']);
    const sticks = [
      ...Array.from({ length: (set?.sticks ?? 0) - 1 }, (_, at) => world.path(`was-${at + 1}`)),
      world.path('place'),
    ];
    expect(await releaseOn(...sticks)).toBe(1);
  });

  it('replaces an older set and a directory medium, and is replaced by one', async () => {
    await using world = await makeSetWorld();
    const requests = world.path('stick/fleet/requests/a.json');
    await world.exportSet(['stick']);
    await mkdir(world.path('stick/fleet/requests'), { recursive: true });
    await writeFile(requests, '{}');
    const first = partsOn(world.path('stick'));
    await second(world);
    const replaced = await world.exportSet(['stick']);
    expect(replaced).toMatchObject({ removed: first.length, changes: ['prod/kiosk 1 -> 2'] });
    expect(partsOn(world.path('stick')).filter((name) => first.includes(name))).toEqual([]);
    await world.export('stick', { sites: ['plant-7'] });
    await world.export('plain', { sites: ['plant-7'] });
    expect(
      [...filesOf(world.path('stick')).keys()].filter((path) => !path.startsWith('fleet/requests')),
    ).toEqual([...filesOf(world.path('plain')).keys()]);
    await writeFile(world.path('stick/FLEET-STATUS.txt'), 'DONE: Version 1 is installed.');
    await world.exportSet(['stick']);
    await world.exportSet(['fresh']);
    await rm(requests);
    expect([...filesOf(world.path('stick')).keys()]).toEqual([...filesOf(world.path('fresh')).keys()]);
    expect(await releaseOn(world.path('stick'))).toBe(2);
  });

  it("refuses another person's file under the name of a part", async () => {
    await using world = await makeSetWorld();
    const { set } = await world.exportSet(['other']);
    const name = basename(set?.parts[0]?.path ?? '');
    await mkdir(world.path('stick/fleet/parts'), { recursive: true });
    const theirs = world.path('stick/fleet/parts', name.replace(/-0001/, '-0002'));
    await writeFile(world.path('stick/fleet/parts/notes.txt'), 'mine');
    await writeFile(theirs, 'three years of work');
    expect(await refused(world.exportSet(['stick']))).toBe('MEDIUM_INVALID');
    expect(readFileSync(theirs, 'utf8')).toBe('three years of work');
    await rm(theirs);
    await world.exportSet(['stick']);
    expect(readFileSync(world.path('stick/fleet/parts/notes.txt'), 'utf8')).toBe('mine');
  });

  it('can be written as single parts, to be sent again', async () => {
    await using world = await makeSetWorld();
    const { set } = await world.exportSet(['stick']);
    const mailed = await world.exportSet(['mail'], { parts: [2] });
    const [name = ''] = [...filesOf(world.path('mail')).keys()];
    expect(mailed.set?.parts.map(({ number }) => number)).toEqual([2]);
    expect(name).toBe(basename(set?.parts[1]?.path ?? ''));
    expect(readFileSync(world.path('mail', name)).equals(readFileSync(set?.parts[1]?.path ?? ''))).toBe(true);
    expect(await world.exportSet(['mail'], { parts: [2] })).toMatchObject({ written: 0 });
    await writeFile(world.path('mail', name), 'another file');
    expect(await refused(world.exportSet(['mail'], { parts: [2] }))).toBe('MEDIUM_INVALID');
    expect(await refused(world.exportSet(['mail'], { parts: [99] }))).toBe('USAGE');
  });

  it('is refused with parts too small for their shared files, and as a tar', async () => {
    await using world = await makeSetWorld();
    expect(await refused(world.exportSet(['stick'], { partSize: 5000 }))).toBe('USAGE');
    expect(await refused(world.exportSet(['a.tar']))).toBe('USAGE');
    expect(existsSync(world.path('stick'))).toBe(false);
  });

  it('refuses a second export to the same medium as BUSY', async () => {
    await using world = await makeSetWorld();
    const seen: unknown[] = [];
    const onBytes = (): void => {
      if (seen.length === 0) seen.push(refused(world.exportSet(['stick'])));
    };
    await world.exportSet(['stick'], {}, {}, { onBytes });
    expect(await Promise.all(seen)).toEqual(['BUSY']);
    expect(await releaseOn(world.path('stick'))).toBe(1);
    expect(readdirSync(world.path('stick/fleet'))).not.toContain('.lock');
  });
});
