import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { byteCursor } from '#bundles/formats/archive/byte-cursor';
import { readTar } from '#bundles/formats/archive/read-tar';
import { hexOf } from '#bundles/digest';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { refused } from '../refused.ts';
import { bundleOf, KIOSK, makeKioskWorld } from '../world.ts';

const pathsIn = async (path: string): Promise<readonly string[]> => {
  const bytes = await readFile(path);
  const content = (async function* () {
    yield bytes;
  })();
  const paths: string[] = [];
  for await (const item of readTar(byteCursor(content), { maxEntries: 1000 })) paths.push(item.path);
  return paths;
};

describe('a medium in one tar', () => {
  it('has the same bytes each time, whether it is read back or not', async () => {
    await using world = await makeKioskWorld();
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    await world.export('a.tar', { sites: ['plant-7'] });
    await world.export('b.tar', { sites: ['plant-7'] }, { readBack: false });
    const bytes = await readFile(world.path('a.tar'));
    expect(bytes.equals(await readFile(world.path('b.tar')))).toBe(true);
    const { written } = await world.export('a.tar', { sites: ['plant-7'] });
    expect(written).toBe(bytes.byteLength);
    expect(bytes.equals(await readFile(world.path('a.tar')))).toBe(true);
  });

  it('begins with its metadata, then documents, manifests, configs and layers', async () => {
    await using world = await makeKioskWorld();
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    const { plan } = await world.export('a.tar', { sites: ['plant-7'] });
    const paths = await pathsIn(world.path('a.tar'));
    expect(paths.slice(0, 3)).toEqual(['oci-layout', 'index.json', 'fleet/medium.json']);
    expect(paths[3]).toMatch(/^fleet\/receipts\//);
    expect(paths.slice(4)).toEqual(plan.blobs.map(({ digest }) => `blobs/sha256/${hexOf(digest)}`));
    expect(plan.blobs.findIndex(({ rank }) => rank === 'layer')).toBeGreaterThan(
      plan.blobs.findLastIndex(({ rank }) => rank === 'manifest'),
    );
  });

  it('replaces an older medium atomically, and resumes an interrupted run', async () => {
    await using world = await makeKioskWorld();
    await world.export('out/a.tar');
    const before = await readFile(world.path('out/a.tar'));
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    const stop = new AbortController();
    const onBytes = (): void => stop.abort();
    await expect(world.export('out/a.tar', {}, { onBytes, signal: stop.signal })).rejects.toThrow();
    expect(await readdir(world.path('out'))).toEqual(['a.tar', 'a.tar.partial']);
    expect(before.equals(await readFile(world.path('out/a.tar')))).toBe(true);
    await world.export('out/a.tar');
    expect(await readdir(world.path('out'))).toEqual(['a.tar']);
    expect(before.equals(await readFile(world.path('out/a.tar')))).toBe(false);
  });

  it('resumes after the last valid entry, for a partial file cut or damaged at any position', async () => {
    await using world = await makeKioskWorld();
    await world.export('a.tar');
    const whole = await readFile(world.path('a.tar'));
    const later = { now: new Date(NOW.getTime() + 3_600_000) };
    const cuts = [0, 1, 511, 512, 3000, whole.byteLength - 52_000, whole.byteLength - 1024, whole.byteLength];
    const written: number[] = [];
    for (const cut of cuts) {
      await writeFile(world.path('b.tar.partial'), whole.subarray(0, cut));
      written.push((await world.export('b.tar', later)).written);
      // Cut before the table of contents, it begins anew and at the later time.
      if (cut > 3000) expect(whole.equals(await readFile(world.path('b.tar')))).toBe(true);
      await rm(world.path('b.tar'));
    }
    expect(written.at(-1)).toBe(1024);
    expect(written).toEqual(written.toSorted((a, b) => b - a));
    const damaged = Buffer.from(whole);
    damaged.fill(0, whole.byteLength - 60_000);
    await writeFile(world.path('b.tar.partial'), damaged);
    expect((await world.export('b.tar', later)).written).toBeLessThan(whole.byteLength);
    expect(whole.equals(await readFile(world.path('b.tar')))).toBe(true);
  });

  it('does not resume from the partial file of another medium', async () => {
    await using world = await makeKioskWorld();
    await world.export('a.tar');
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.export('fresh.tar');
    await writeFile(world.path('b.tar.partial'), await readFile(world.path('a.tar')));
    await world.export('b.tar');
    expect((await readFile(world.path('fresh.tar'))).equals(await readFile(world.path('b.tar')))).toBe(true);
  });

  it('does not overwrite a file that is not a medium, and refuses to be cut into pieces', async () => {
    await using world = await makeKioskWorld();
    await writeFile(world.path('thesis.tar'), 'three years of work');
    expect(await refused(world.export('thesis.tar'))).toBe('MEDIUM_INVALID');
    expect(await readFile(world.path('thesis.tar'), 'utf8')).toBe('three years of work');
    expect(await refused(world.export('a.tar', {}, { maxFileSize: 1000 }))).toBe('USAGE');
  });
});
