import { mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { agentFolder } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW, newFleet } from '../../harness/fleets/signed-fleet.ts';
import { writeSignedLayout } from '../../harness/fleets/signed-layout.ts';
import { digestsOf, filesOf } from '../files-of.ts';
import { refused } from '../refused.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { LONG } from '../../harness/run/long.ts';

const second = (world: World) =>
  world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });

/** undefined: not filled yet. A medium that is filled must be right in every detail. */
const releaseOn = async (path: string): Promise<number | undefined> => {
  await using open = await openMedium(path);
  if (!open.medium) return undefined;
  const { checks, ok } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  expect(ok).toBe(true);
  return open.medium.documents.find(({ role }) => role === 'release')?.version;
};

describe('a medium in a folder', () => {
  it('has documents, closure and index under names that FAT32 keeps', async () => {
    await using world = await makeKioskWorld();
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    const { plan, written, changes } = await world.export(
      'medium',
      { sites: ['plant-7'] },
      { maxFileSize: 20_000 },
    );
    const files = filesOf(world.path('medium'));
    for (const path of files.keys()) {
      expect(path).toMatch(/^[a-z0-9._/-]{1,100}$/);
      for (const part of path.split('/'))
        expect(part).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)|\.$/);
    }
    expect(new Set([...files.keys()].map((path) => path.toLowerCase())).size).toBe(files.size);
    expect(written).toBe([...files.values()].reduce((sum, bytes) => sum + bytes.byteLength, 0));
    expect(changes).toEqual(['prod/kiosk 1 is new']);
    const whole = plan.blobs.filter(({ size }) => size <= 20_000);
    expect([...files.keys()].filter((path) => path.startsWith('blobs/')).length).toBe(whole.length);
    expect(await releaseOn(world.path('medium'))).toBe(1);
  });

  it('loses the FLEET-STATUS.txt of an earlier visit when it is filled again, but not a folder of that name', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', {});
    const status = world.path('medium/FLEET-STATUS.txt');
    await writeFile(status, 'DONE: Version 1 is installed.');
    await world.export('medium', {});
    expect(filesOf(world.path('medium')).has('FLEET-STATUS.txt')).toBe(false);
    await mkdir(status);
    await world.export('medium', {});
    expect((await stat(status)).isDirectory()).toBe(true);
  });

  it('has blobs above the part size in numbered pieces, which are read as one', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', {}, { maxFileSize: 20_000 });
    const pieces = [...filesOf(world.path('medium'))].filter(([path]) => path.startsWith('fleet/chunks/'));
    expect(pieces.map(([path]) => path.replace(/^fleet\/chunks\/[0-9a-f]{32}/, ''))).toEqual([
      '.000',
      '.001',
      '.002',
    ]);
    expect(pieces.map(([, bytes]) => bytes.byteLength)).toEqual([20_000, 20_000, 10_000]);
    await rm(world.path('medium', pieces[1]?.[0] ?? ''));
    expect((await world.export('medium', {}, { maxFileSize: 20_000 })).written).toBe(20_000);
    expect(await releaseOn(world.path('medium'))).toBe(1);
  });

  it('has receipts where the agent reads them, and among the documents', async () => {
    await using world = await makeKioskWorld();
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    const { plan } = await world.export('medium', { sites: ['plant-7'] });
    const receipt = plan.medium.documents.find(({ role }) => role === 'receipt');
    const name = hexOf(receipt?.digest ?? world.first);
    const file = `fleet/receipts/${agentFolder('plant-7/line-1')}.sigstore.json`;
    const copy = await readFile(world.path('medium', file));
    expect(copy).toEqual(await readFile(world.path('medium/blobs/sha256', name)));
  });

  it('has content instead of a link when a blob was replaced by a link', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', {});
    const [first = ''] = [...filesOf(world.path('medium')).keys()].filter((path) =>
      path.startsWith('blobs/'),
    );
    await rename(world.path('medium', first), world.path('outside'));
    await symlink(world.path('outside'), world.path('medium', first));
    await world.export('medium', {});
    expect(await releaseOn(world.path('medium'))).toBe(1);
  });

  it('has the receipt of the highest event, and keeps a valid receipt that only the medium has', async () => {
    await using world = await makeKioskWorld();
    const agent = 'plant-7/line-1';
    const receiptsOn = async (path: string) => {
      await using open = await openMedium(path);
      return open.medium?.documents.filter(({ role }) => role === 'receipt').length;
    };
    await world.layout.receipts(
      'plant-7',
      [1, 21, 11].map((from) => ({ agent, from, to: from + 9 })),
    );
    for (const name of ['medium', 'medium.tar']) await world.export(name, { sites: ['plant-7'] });
    const file = world.path('medium/fleet/receipts', `${agentFolder(agent)}.sigstore.json`);
    const newest = await readFile(file, 'utf8');
    expect(Buffer.from(newest.match(/"payload":"([^"]+)"/)?.[1] ?? '', 'base64').toString()).toContain(
      '"to":30',
    );
    await world.layout.receipts('plant-7', [{ agent, from: 1, to: 20 }]);
    for (const name of ['medium', 'medium.tar']) {
      await world.export(name, { sites: ['plant-7'] });
      expect(await receiptsOn(world.path(name))).toBe(2);
      await releaseOn(world.path(name));
    }
    expect(await readFile(file, 'utf8')).toBe(newest);
    await world.layout.receipts('plant-7', [{ agent, from: 1, to: 30 }]);
    await world.export('medium', { sites: ['plant-7'] });
    expect(await receiptsOn(world.path('medium'))).toBe(1);
  });

  it('is not changed by a second run, at any later time', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', { sites: ['plant-7'] });
    const before = digestsOf(world.path('medium'));
    const again = await world.export('medium', { sites: ['plant-7'], now: new Date(NOW.getTime() + 60_000) });
    expect(again).toMatchObject({ written: 0, removed: 0, changes: [] });
    expect(digestsOf(world.path('medium'))).toEqual(before);
  });

  it('becomes the next medium, without the blobs that only the former one needed', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', {}, { maxFileSize: 20_000 });
    await second(world);
    const { removed, changes } = await world.export('medium');
    await world.export('fresh');
    expect(digestsOf(world.path('medium'))).toEqual(digestsOf(world.path('fresh')));
    expect(removed).toBeGreaterThan(3);
    expect(changes).toEqual(['prod/kiosk 1 -> 2']);
  });

  it('keeps files of other people, requests and reports', async () => {
    await using world = await makeKioskWorld();
    const mine = [
      'holiday.jpg',
      'blobs/notes.txt',
      'blobs/sha256/README',
      'fleet/requests/a.json',
      'fleet/reports/b/1-2.ndjson',
      'fleet/chunks/list.txt',
      'fleet/.tmp-mine',
    ];
    for (const path of mine) {
      await mkdir(world.path('medium', path, '..'), { recursive: true });
      await writeFile(world.path('medium', path), path);
    }
    await world.export('medium');
    await second(world);
    await world.export('medium');
    for (const path of mine) expect(await readFile(world.path('medium', path), 'utf8')).toBe(path);
  });

  it('is repaired when a blob or the table of contents is damaged, and loses temporary files', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium');
    const before = digestsOf(world.path('medium'));
    const layer = plan.blobs.findLast(({ size }) => size === 50_000);
    const path = world.path('medium/blobs/sha256', hexOf(layer?.digest ?? world.first));
    const bytes = await readFile(path);
    bytes[7] = 0;
    await writeFile(path, bytes);
    await writeFile(world.path('medium/fleet/medium.json'), '{"format":');
    await writeFile(world.path('medium/blobs/sha256/.tmp-0123abcd'), 'half');
    await world.export('medium');
    expect(digestsOf(world.path('medium'))).toEqual(before);
  });

  it('is either the old or the new medium when the run is stopped after any number of bytes, and can be resumed', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium', {}, { maxFileSize: 20_000 });
    await second(world);
    const seen = new Set<number | undefined>();
    for (let calls = 0; ; calls += LONG ? 1 : 3) {
      const stop = new AbortController();
      let left = calls;
      const onBytes = (): void => {
        if (left === 0) stop.abort();
        left -= 1;
      };
      const options = { onBytes, signal: stop.signal, maxFileSize: 20_000 };
      const done = await world.export('medium', {}, options).then(
        () => true,
        () => false,
      );
      seen.add(await releaseOn(world.path('medium')));
      if (done) break;
    }
    expect([...seen]).toEqual([1, 2]);
    await world.export('fresh', {}, { maxFileSize: 20_000 });
    expect(digestsOf(world.path('medium'))).toEqual(digestsOf(world.path('fresh')));
  });

  it('refuses an older release, unless the newer one on it is not signed', async () => {
    await using world = await makeKioskWorld();
    await using other = await makeKioskWorld();
    await second(world);
    await world.export('medium');
    await world.layout.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')] });
    expect(await refused(world.export('medium'))).toBe('ROLLBACK');
    expect(await releaseOn(world.path('medium'))).toBe(2);

    await other.export('medium');
    const file = other.path('medium/fleet/medium.json');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('"version":1', '"version":9'));
    expect(await refused(other.export('medium'))).toBeUndefined();
  });

  it('of another fleet is refused, and so is a layout that is not a medium', async () => {
    await using world = await makeKioskWorld();
    await writeSignedLayout(await newFleet('other'), world.path('other')).release({
      channel: KIOSK,
      version: 1,
      bundles: [bundleOf('one')],
    });
    await world.export('medium');
    expect(await refused(world.export('medium', { from: world.path('other') }))).toBe('WRONG_FLEET');
    const before = digestsOf(world.path('layout'));
    expect(await refused(world.export('layout'))).toBe('MEDIUM_INVALID');
    expect(digestsOf(world.path('layout'))).toEqual(before);
  });
});
