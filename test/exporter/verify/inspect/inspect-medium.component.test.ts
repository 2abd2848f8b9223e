import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Medium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { fingerprint } from '#bundles/trust/keys/key';
import { type Inspection, inspectMedium } from '../../../../exporter/verify/inspect/inspect-medium.ts';
import { bundleOf, KIOSK, makeKioskWorld } from '../../world.ts';

const inspect = async (path: string): Promise<Inspection> => {
  await using open = await openMedium(path);
  return await inspectMedium(open);
};

describe('inspectMedium', () => {
  it('returns releases, sites, sizes, bases, reports and requests', async () => {
    await using world = await makeKioskWorld();
    await world.export('base');
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    const { plan } = await world.export('medium', { sites: ['plant-7'], bases: [world.path('base')] });
    await mkdir(world.path('medium/fleet/reports/abc'), { recursive: true });
    await writeFile(world.path('medium/fleet/reports/abc/1-2.ndjson'), '');
    await mkdir(world.path('medium/fleet/requests'), { recursive: true });
    await writeFile(world.path('medium/fleet/requests/abc.json'), '{}');
    expect(await inspect(world.path('medium'))).toEqual({
      path: world.path('medium'),
      form: 'directory',
      filled: {
        fleet: 'acme',
        createdAt: '2026-11-21T08:00:00Z',
        bytes: plan.carried,
        blobs: plan.blobs.length,
        chunked: 0,
        patched: 0,
        roots: [1],
        releases: [
          {
            channel: 'prod/kiosk',
            version: 2,
            issuedAt: '2026-11-20T08:00:00Z',
            expires: '2027-05-20T08:00:00Z',
            signers: [fingerprint(world.fleet.keys.release.public).slice(0, 12)],
          },
        ],
        leases: [],
        bundles: [
          {
            channel: 'prod/kiosk',
            kind: 'kubernetes',
            digest: plan.bundles[0]?.digest,
            assumedBlobs: 1,
            assumedBytes: 50_000,
            base: [world.first],
            built: {
              builder: 'test',
              builtAt: '2026-11-21T08:00:00Z',
              candidate: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
            },
          },
        ],
        secrets: [],
        sites: [{ site: 'plant-7', version: 1 }],
        receipts: 1,
      },
      reports: ['fleet/reports/abc/1-2.ndjson'],
      requests: ['fleet/requests/abc.json'],
    });
  });

  it('does not count a blob as missing when a patch brings it', async () => {
    await using world = await makeKioskWorld();
    await world.export('base');
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.export('medium', { bases: [world.path('base')] });
    const file = world.path('medium/fleet/medium.json');
    const medium = JSON.parse(await readFile(file, 'utf8')) as Medium;
    const [missing] = medium.bundles.flatMap(({ assumed }) => assumed);
    if (!missing) throw new Error('nothing is assumed');
    const patch = { path: `fleet/deltas/${'0'.repeat(32)}.zst`, size: 62, digest: world.first };
    const deltas = [{ ...missing, base: world.first, form: 'plain', patch }];
    await writeFile(file, JSON.stringify({ ...medium, deltas, critical: ['deltas'] }));
    const { filled } = await inspect(world.path('medium'));
    expect(filled).toMatchObject({ patched: 1, bundles: [{ assumedBlobs: 0, assumedBytes: 0 }] });
  });

  it('counts a blob in pieces as one', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium', {}, { maxFileSize: 20_000 });
    const { filled } = await inspect(world.path('medium'));
    expect(filled).toMatchObject({ chunked: 1, bytes: plan.carried, blobs: plan.blobs.length });
  });

  it('returns an empty medium as not filled, and a damaged release without its expiry', async () => {
    await using world = await makeKioskWorld();
    await mkdir(world.path('stick'));
    expect(await inspect(world.path('stick'))).toMatchObject({
      filled: undefined,
      reports: [],
      requests: [],
    });
    const { plan } = await world.export('medium');
    const release = plan.medium.documents.find(({ role }) => role === 'release');
    await writeFile(world.path('medium/blobs/sha256', release?.digest.slice(7) ?? ''), 'damaged');
    expect((await inspect(world.path('medium'))).filled?.releases[0]?.expires).toBeUndefined();
  });
});
