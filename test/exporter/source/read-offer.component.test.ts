import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { addDays } from '#bundles/time';
import { NOW, newSigningKey, rotate } from '../../harness/fleets/signed-fleet.ts';
import { writeSignedLayout } from '../../harness/fleets/signed-layout.ts';
import { refused } from '../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, makeWorld } from '../world.ts';

describe('readOffer', () => {
  it('takes all channels without a selection', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 4, bundles: [bundleOf('gate')] });
    const { plan } = await world.plan();
    expect(plan.bundles.map((it) => [formatChannel(it.channel), it.version])).toEqual([
      ['prod/gate', 4],
      ['prod/kiosk', 1],
    ]);
  });

  it('takes the channels of the agents of a given site, with its statement and values', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 4, bundles: [bundleOf('gate')] });
    const { plan } = await world.plan({ sites: ['plant-7'] });
    expect(plan.bundles.map((it) => formatChannel(it.channel))).toEqual(['prod/kiosk']);
    expect(plan.sites).toMatchObject([{ site: 'plant-7', version: 1, agents: [{ carried: true }] }]);
    expect(plan.medium.documents.map(({ role }) => role).toSorted()).toEqual(
      ['bundle', 'candidate', 'release', 'revocations', 'root', 'site', 'site-values'].toSorted(),
    );
  });

  it('names the agents of a site whose channel is not selected', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 4, bundles: [bundleOf('gate')] });
    const { plan } = await world.plan({ sites: ['plant-7'], channels: [GATE] });
    expect(plan.sites).toMatchObject([{ agents: [{ name: 'line-1', carried: false }] }]);
  });

  it('takes every root once when releases were signed under different roots', async () => {
    await using world = await makeKioskWorld();
    const later = await rotate(world.fleet, 'lease');
    await writeSignedLayout(later, world.path('layout')).release({
      channel: GATE,
      version: 1,
      bundles: [bundleOf('gate')],
    });
    const { plan } = await world.plan();
    const roots = plan.medium.documents.filter(({ role }) => role === 'root');
    expect(new Set(roots.map(({ version }) => version))).toEqual(new Set([1, 2]));
    expect(roots).toHaveLength(2);
  });

  it('takes the lease of each channel', async () => {
    await using world = await makeKioskWorld();
    await world.layout.lease({ channel: KIOSK, version: 3 });
    const { plan, notes } = await world.plan({ sites: ['plant-7'] });
    expect(plan.leases).toMatchObject([{ channel: KIOSK, version: 3, release: 1 }]);
    expect(plan.medium.documents.filter(({ role }) => role === 'lease')).toMatchObject([
      { ...KIOSK, version: 3 },
    ]);
    expect(notes.filter((note) => note.includes('lease'))).toEqual([]);
  });

  it.each([
    ['a release before', { release: digestOf('another') }, 'LEASE_MISMATCH'],
    ['an end that is past', { issuedAt: addDays(NOW, -3), expires: addDays(NOW, -1) }, 'ended at'],
    ['a key that may sign none', { key: newSigningKey() }, 'UNKNOWN_KEY'],
  ])('leaves out a lease with a note: %s', async (_, more, why) => {
    await using world = await makeKioskWorld();
    await world.layout.lease({ channel: KIOSK, version: 3, ...more });
    const { plan, notes } = await world.plan();
    expect([plan.leases, plan.medium.documents.filter(({ role }) => role === 'lease')]).toEqual([[], []]);
    expect(notes.join('\n')).toContain(why);
    expect(plan.bundles).toHaveLength(1);
  });

  it('takes an expired release with a valid lease of it, and refuses it without', async () => {
    await using world = await makeKioskWorld();
    const later = addDays(NOW, 200);
    expect(await refused(world.plan({ now: later }))).toBe('EXPIRED');
    await world.layout.lease({ channel: KIOSK, version: 1, issuedAt: later, expires: addDays(later, 30) });
    expect((await world.plan({ now: later })).plan.leases).toMatchObject([{ version: 1 }]);
  });

  it('takes only leases and roots with leaseOnly', async () => {
    await using world = await makeKioskWorld();
    expect(await refused(world.plan({ leaseOnly: true }))).toBe('CHANNEL_MISSING');
    await world.layout.lease({ channel: KIOSK, version: 3 });
    const { plan } = await world.plan({ sites: ['plant-7'], leaseOnly: true });
    expect(plan.medium.documents.map(({ role }) => role).toSorted()).toEqual(['lease', 'root']);
    expect([plan.bundles, plan.medium.bundles, plan.index]).toEqual([[], [], []]);
    expect(plan.carried).toBeLessThan(8192);
    // A stick that holds everything keeps it.
    await world.export('medium');
    expect(await refused(world.export('medium', { leaseOnly: true }))).toBe('USAGE');
  });

  it('takes only the statement and values of a site, leases and roots with valuesOnly', async () => {
    await using world = await makeKioskWorld();
    expect(await refused(world.plan({ valuesOnly: true }))).toBe('USAGE');
    await world.layout.lease({ channel: KIOSK, version: 3 });
    const { plan } = await world.plan({ sites: ['plant-7'], valuesOnly: true });
    expect(plan.medium.documents.map(({ role }) => role).toSorted()).toEqual([
      'lease',
      'root',
      'site',
      'site-values',
    ]);
    expect([plan.bundles, plan.medium.bundles, plan.index]).toEqual([[], [], []]);
    expect(plan.carried).toBeLessThan(10_000);
    await world.export('medium');
    expect(await refused(world.export('medium', { sites: ['plant-7'], valuesOnly: true }))).toBe('USAGE');
  });

  it('refuses missing channels and sites, with those that exist in the hint', async () => {
    await using world = await makeKioskWorld();
    expect(await refused(world.plan({ channels: [GATE] }))).toBe('CHANNEL_MISSING');
    await expect(world.plan({ channels: [GATE] })).rejects.toMatchObject({ hint: 'It has prod/kiosk' });
    const mistyped = { ...KIOSK, clusterType: 'kiosl' };
    await expect(world.plan({ channels: [mistyped] })).rejects.toMatchObject({
      hint: 'Did you mean prod/kiosk? It has prod/kiosk',
    });
    await expect(world.plan({ sites: ['plant-8'] })).rejects.toMatchObject({
      code: 'SITE_MISSING',
      hint: 'Did you mean plant-7? Enrol a new site first: fleet-scheduler sites enroll',
    });
  });

  it('refuses a site without agents, and takes its statement with a given channel', async () => {
    await using world = await makeKioskWorld();
    await world.layout.site({ site: 'plant-7', version: 2, agents: [] });
    await expect(world.plan({ sites: ['plant-7'] })).rejects.toMatchObject({
      code: 'CHANNEL_MISSING',
      message: 'no agent of site plant-7 is left, so it follows no channel',
      hint: 'Name one with --channel: the new site statement goes with it',
    });
    expect((await world.plan({ sites: ['plant-7'], channels: [KIOSK] })).plan.sites).toMatchObject([
      { site: 'plant-7', version: 2 },
    ]);
  });

  it('refuses a folder that is not a layout, and an address that is not a registry', async () => {
    await using world = await makeWorld();
    expect(await refused(world.plan({ from: world.path('nothing') }))).toBe('MEDIUM_MISSING');
    expect(await refused(world.plan({ from: 'https://registry.test/fleet' }))).toBe('USAGE');
  });

  it.each([
    ['a release signed by a stranger', { releaseKey: newSigningKey() }, 'UNKNOWN_KEY'],
    ['a bundle signed by a stranger', { bundleKey: newSigningKey() }, 'UNKNOWN_KEY'],
    ['an expired release', { expires: addDays(NOW, -0.5) }, 'EXPIRED'],
    ['a release that is valid for years', { expires: addDays(NOW, 600) }, 'SCHEMA'],
  ] as const)('refuses %s', async (_, change, code) => {
    await using world = await makeWorld();
    await world.layout.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')], ...change });
    expect(await refused(world.export('medium'))).toBe(code);
    await expect(readFile(world.path('medium', 'index.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('takes a release for agents that are newer than this program', async () => {
    await using world = await makeWorld();
    await world.layout.release({
      channel: KIOSK,
      version: 1,
      bundles: [bundleOf('one')],
      minAgent: '99.0.0',
    });
    expect(await refused(world.export('medium'))).toBeUndefined();
  });

  it('refuses a source that lacks a blob before the first blob is written', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.plan();
    const layer = plan.blobs.findLast(({ size }) => size === 50_000);
    await rm(world.path('layout/blobs/sha256', hexOf(layer?.digest ?? world.first)));
    await expect(world.export('medium')).rejects.toMatchObject({
      code: 'MISSING_BLOB',
      subject: layer?.digest,
    });
    await expect(readFile(world.path('medium', 'oci-layout'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('never writes a damaged source blob to a medium, with or without reading back', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.plan();
    const layer = plan.blobs.findLast(({ size }) => size === 50_000);
    await writeFile(
      world.path('layout/blobs/sha256', hexOf(layer?.digest ?? world.first)),
      Buffer.alloc(50_000, 'other'),
    );
    for (const readBack of [true, false]) {
      expect(await refused(world.export('medium', {}, { readBack }))).toBe('DIGEST_MISMATCH');
      expect(await refused(world.export('medium.tar', {}, { readBack }))).toBe('DIGEST_MISMATCH');
    }
    await expect(readFile(world.path('medium', 'index.json'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(readFile(world.path('medium.tar'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(readFile(world.path('medium.tar.partial'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
