import { appendFile, cp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import type { Medium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { addDays } from '#bundles/time';
import { type Verification, verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW, newFleet } from '../../harness/fleets/signed-fleet.ts';
import { writeSignedLayout } from '../../harness/fleets/signed-layout.ts';
import { filesOf } from '../files-of.ts';
import { refused } from '../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld } from '../world.ts';

const verify = async (path: string, pinned?: Digest, now = NOW): Promise<Verification> => {
  await using open = await openMedium(path);
  return await verifyMedium(open, pinned, now);
};

const codes = async (path: string, pinned?: Digest, now = NOW) =>
  (await verify(path, pinned, now)).checks.flatMap(({ code }) => code ?? []);

const edit = async (path: string, change: (medium: Medium) => unknown): Promise<void> => {
  const file = `${path}/fleet/medium.json`;
  const medium = JSON.parse(await readFile(file, 'utf8')) as Medium;
  await writeFile(file, canonicalBytes(change(medium) as Parameters<typeof canonicalBytes>[0]));
};

/** The folder's files as a tar, metadata first, with more entries behind. */
const tarOf = async (folder: string, tar: string, more: readonly TarEntry[] = []): Promise<void> => {
  const files = [...filesOf(folder)].map(
    ([path, content]): TarEntry => ({ path, size: content.byteLength, content }),
  );
  const rank = ({ path }: TarEntry): number => (path.startsWith('blobs/') ? 1 : 0);
  const entries = [...files.toSorted((a, b) => rank(a) - rank(b)), ...more];
  await writeFile(tar, await Array.fromAsync(writeTar(entries)));
};

const LAYER = hexOf(digestOf(Buffer.alloc(50_000, 'base')));

describe('verifyMedium', () => {
  it('accepts an exported medium, as a folder and a tar, with the given root', async () => {
    await using world = await makeKioskWorld();
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    await world.export('medium', { sites: ['plant-7'] });
    await world.export('medium.tar', { sites: ['plant-7'] });
    const root = digestOf(world.fleet.roots[0] ?? '');
    for (const name of ['medium', 'medium.tar']) {
      const { ok, anchored, checks, advice } = await verify(world.path(name), root);
      // The only thing to say: these keys are somebody's for trying things out.
      expect({ ok, anchored, advice }).toEqual({
        ok: true,
        anchored: true,
        advice: [expect.stringMatching(/^DEV ROOT: .*[^.]$/)],
      });
      expect(checks.map(({ what }) => what)).toEqual([
        'trust root',
        'fleet',
        'site plant-7',
        'release prod/kiosk',
        'kubernetes bundle prod/kiosk',
        'nothing extra',
        'receipts plant-7/line-1',
        'documents',
        'blobs',
      ]);
    }
  });

  it('is not anchored without a given root, and advises to give one', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    const { ok, anchored, advice } = await verify(world.path('medium'));
    expect({ ok, anchored }).toEqual({ ok: true, anchored: false });
    expect(advice.join()).toContain('--root-sha256');
  });

  it('refuses a fleet with another root than the given one', async () => {
    await using world = await makeKioskWorld();
    await writeSignedLayout(await newFleet('acme'), world.path('impostor')).release({
      channel: KIOSK,
      version: 1,
      bundles: [bundleOf('evil')],
    });
    await world.export('medium', { from: world.path('impostor') });
    expect(await codes(world.path('medium'))).toEqual([]);
    expect(await codes(world.path('medium'), digestOf(world.fleet.roots[0] ?? ''))).toEqual(['ROOT_UNKNOWN']);
  });

  it('refuses a medium whose release has expired since', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    expect(await codes(world.path('medium'), undefined, addDays(NOW, 181))).toContain('EXPIRED');
  });

  it('refuses a medium with a flipped byte in any of its blobs', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium');
    for (const { digest } of plan.blobs) {
      const file = world.path('medium/blobs/sha256', hexOf(digest));
      const bytes = await readFile(file);
      const at = bytes.byteLength >> 1;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(file, bytes);
      expect(await codes(world.path('medium'))).toContain('DIGEST_MISMATCH');
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(file, bytes);
    }
    expect(await codes(world.path('medium'))).toEqual([]);
  });

  it('refuses a blob that is missing, too short or changed', async () => {
    await using world = await makeKioskWorld();
    await world.export('whole');
    const layer = `medium/blobs/sha256/${LAYER}`;
    const cases = {
      MISSING_BLOB: (file: string) => rm(file),
      SIZE_MISMATCH: (file: string) => truncate(file, 49_999),
      DIGEST_MISMATCH: (file: string) => writeFile(file, Buffer.alloc(50_000)),
    };
    for (const [code, damage] of Object.entries(cases)) {
      await rm(world.path('medium'), { recursive: true, force: true });
      await cp(world.path('whole'), world.path('medium'), { recursive: true });
      await damage(world.path(layer));
      expect(await codes(world.path('medium'))).toContain(code);
    }
  });

  it('refuses a tar that was cut off anywhere as TRUNCATED, and one with more bytes as TRAILING', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium.tar');
    const bytes = await readFile(world.path('medium.tar'));
    for (const part of [0.1, 0.5, 0.9, 0.999]) {
      await writeFile(world.path('cut.tar'), bytes.subarray(0, Math.floor(bytes.byteLength * part)));
      expect(await refused(openMedium(world.path('cut.tar')))).toBe('TRUNCATED');
    }
    await writeFile(world.path('longer.tar'), Buffer.concat([bytes, Buffer.from('more')]));
    expect(await refused(openMedium(world.path('longer.tar')))).toBe('TRAILING');
  });

  it('accepts a delta, and refuses one that does not list what it leaves out', async () => {
    await using world = await makeKioskWorld();
    await world.export('base');
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.export('delta', { bases: [world.path('base')] });
    const { ok, checks } = await verify(world.path('delta'));
    expect(ok).toBe(true);
    expect(checks.find(({ what }) => what.includes('bundle'))?.message).toContain('1 expected at the site');
    await edit(world.path('delta'), (medium) => ({
      ...medium,
      bundles: medium.bundles.map((bundle) => ({ ...bundle, assumed: [] })),
    }));
    expect(await codes(world.path('delta'))).toEqual(['MISSING_BLOB']);
  });

  it('M24 refuses a bundle that is signed, but that no release names', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    await world.export('medium');
    await edit(world.path('medium'), (medium) => ({
      ...medium,
      documents: medium.documents.filter((it) => it.role !== 'release' || it.clusterType !== 'gate'),
    }));
    expect(await codes(world.path('medium'))).toEqual(['EXTRA_BUNDLE']);
  });

  it('T16: refuses a stray blob in a tar, and mentions it in a folder', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    const content = Buffer.from('stray');
    const path = `blobs/sha256/${hexOf(digestOf(content))}`;
    await tarOf(world.path('medium'), world.path('ok.tar'));
    await tarOf(world.path('medium'), world.path('stray.tar'), [{ path, size: 5, content }]);
    expect(await codes(world.path('ok.tar'))).toEqual([]);
    expect(await codes(world.path('stray.tar'))).toEqual(['UNEXPECTED_BLOB']);
    await writeFile(world.path('medium', path), content);
    const { ok, advice } = await verify(world.path('medium'));
    expect(ok).toBe(true);
    expect(advice.join()).toContain('1 file under blobs/ belongs to nothing');
  });

  it('does not report stray blobs when a bundle is refused', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    await rm(world.path('medium/blobs/sha256', LAYER));
    await tarOf(world.path('medium'), world.path('medium.tar'));
    expect((await verify(world.path('medium'))).advice.join()).not.toContain('belong');
    expect(await codes(world.path('medium.tar'))).toEqual(['MISSING_BLOB']);
  });

  it('refuses a table of contents that leaves out documents or bundles, or names another fleet', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    const swap = (role: string) => (medium: Medium) => ({
      ...medium,
      documents: medium.documents.filter((it) => it.role !== role),
    });
    await edit(world.path('medium'), swap('bundle'));
    expect(await codes(world.path('medium'))).toContain('BUNDLE_UNSIGNED');
    await world.export('medium');
    await edit(world.path('medium'), swap('root'));
    expect(await codes(world.path('medium'))).toEqual(['ROOT_UNKNOWN']);
    await world.export('medium');
    await edit(world.path('medium'), (medium) => ({ ...medium, fleet: 'other' }));
    expect(await codes(world.path('medium'))).toContain('WRONG_FLEET');
    await world.export('fresh');
    await edit(world.path('fresh'), (medium) => ({ ...medium, bundles: [] }));
    expect(await codes(world.path('fresh'))).toEqual(['MISSING_BLOB']);
  });

  it('refuses an empty medium and a missing path', async () => {
    await using world = await makeKioskWorld();
    await appendFile(world.path('empty'), '');
    await rm(world.path('empty'));
    await cp(world.path('layout/blobs'), world.path('empty/blobs'), { recursive: true });
    expect(await refused(verify(world.path('empty')))).toBe('MEDIUM_EMPTY');
    expect(await refused(verify(world.path('nowhere')))).toBe('MEDIUM_MISSING');
  });

  it('checks leases as an agent does: with their release, and alone', async () => {
    await using world = await makeKioskWorld();
    await world.layout.lease({ channel: KIOSK, version: 3 });
    await world.export('medium');
    await world.export('alone', { leaseOnly: true });
    const said = async (path: string, now = NOW) =>
      (await verify(world.path(path), undefined, now)).checks.find(({ what }) => what.startsWith('lease'));
    expect(await said('medium')).toMatchObject({
      what: 'lease prod/kiosk',
      ok: true,
      message: expect.stringMatching(
        /^version 3 of release 1, live until 2026-12-21T08:00:00Z, signed by [0-9a-f]{12}$/,
      ),
    });
    expect(await said('alone')).toMatchObject({
      ok: true,
      message: expect.stringContaining('a release at the site'),
    });
    expect(await said('alone', addDays(NOW, 31))).toMatchObject({
      ok: true,
      message: expect.stringContaining('ENDED at'),
    });
  });

  it('accepts an expired release with a valid lease, and refuses it when the lease has expired too', async () => {
    await using world = await makeKioskWorld();
    const later = addDays(NOW, 200);
    await world.layout.lease({ channel: KIOSK, version: 1, issuedAt: later, expires: addDays(later, 30) });
    await world.export('medium', { now: later });
    const { ok, checks } = await verify(world.path('medium'), undefined, later);
    expect([ok, checks.find(({ what }) => what.startsWith('release'))?.message]).toEqual([
      true,
      expect.stringContaining('alive by its lease until 2027-07-09'),
    ]);
    expect(await codes(world.path('medium'), undefined, addDays(later, 31))).toContain('EXPIRED');
  });
});
