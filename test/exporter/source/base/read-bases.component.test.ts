import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf, hexOf, shortDigest } from '#bundles/digest';
import { agentFolder } from '#bundles/formats/medium/medium';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { NOW, newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { writeReport } from '../../../harness/fleets/signed-layout.ts';
import { refused } from '../../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../../world.ts';

const put = async (path: string, bytes: Uint8Array): Promise<string> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return path;
};

const report = async (
  world: World,
  holds: readonly Digest[],
  more: Partial<ReportPredicate> & { readonly key?: SigningKey; readonly name?: string } = {},
): Promise<string> => {
  const { key = world.agent, name = 'report.json', ...predicate } = more;
  const { statement } = await writeReport('acme', 'plant-7/line-1', key, holds, predicate);
  return put(world.path(name), statement);
};

const second = (world: World): Promise<readonly Digest[]> =>
  world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });

describe('the bases of a medium', () => {
  it("leave out what an agent's signed report lists, and are named on the medium", async () => {
    await using world = await makeKioskWorld();
    await second(world);
    const { plan } = await world.plan({ bases: [await report(world, [world.first])] });
    expect(plan.assumed).toBe(50_000);
    expect(plan.medium.bundles).toMatchObject([{ assumed: [{ size: 50_000 }], base: [world.first] }]);
    expect(plan.bundles[0]?.why).toEqual(['plant-7/line-1 has 1 of 7 blobs']);
  });

  it('leave out what an earlier medium carried, as a folder and as a tar', async () => {
    await using world = await makeKioskWorld();
    await world.export('earlier');
    await world.export('earlier.tar');
    await second(world);
    for (const name of ['earlier', 'earlier.tar']) {
      const { plan } = await world.plan({ bases: [world.path(name)] });
      expect(plan.assumed).toBe(50_000);
    }
  });

  it('may be an earlier delta, including its own base', async () => {
    await using world = await makeKioskWorld();
    await world.export('one');
    await second(world);
    await world.export('two', { bases: [world.path('one')] });
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('three')] });
    const { plan } = await world.plan({ bases: [world.path('two')] });
    expect(plan.assumed).toBe(50_000);
  });

  it('prefer the reports on a returned medium to what was once sent on it', async () => {
    await using world = await makeKioskWorld();
    await world.export('stick');
    const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, []);
    await put(world.path('stick/fleet/reports', agentFolder('plant-7/line-1'), '1-1.json'), statement);
    await second(world);
    const { plan } = await world.plan({ bases: [world.path('stick')] });
    expect(plan.assumed).toBe(0);
  });

  it('leave out a blob only if every agent has it', async () => {
    await using world = await makeKioskWorld();
    const other = newSigningKey();
    await world.layout.site({
      site: 'plant-8',
      version: 1,
      agents: [{ name: 'line-1', channel: KIOSK, key: other }],
    });
    const full = await report(world, [world.first]);
    const { statement } = await writeReport('acme', 'plant-8/line-1', other, []);
    const empty = await put(world.path('empty.json'), statement);
    await second(world);
    expect((await world.plan({ bases: [full] })).plan.assumed).toBe(50_000);
    expect((await world.plan({ bases: [full, empty] })).plan.assumed).toBe(0);
  });

  it('of one channel do not count for agents of another', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    const { plan } = await world.plan({ bases: [await report(world, [world.first])], channels: [GATE] });
    expect(plan.assumed).toBe(0);
    expect(plan.bundles[0]?.why).toEqual(['no base: everything']);
  });

  it('use the newest report of an agent in any order: a replayed old report changes nothing', async () => {
    await using world = await makeKioskWorld();
    const old = await report(world, [world.first], { name: 'old.json', to: 4 });
    const now = await report(world, [], { name: 'new.json', from: 5, to: 9 });
    await second(world);
    expect((await world.plan({ bases: [now, old] })).plan.assumed).toBe(0);
    expect((await world.plan({ bases: [old, now] })).plan.assumed).toBe(0);
  });

  it('leave nothing out, with a note, when the source no longer has the base', async () => {
    await using world = await makeKioskWorld();
    const base = await report(world, [world.first]);
    await second(world);
    await rm(world.path('layout/blobs/sha256', hexOf(world.first)));
    const { plan, notes } = await world.plan({ bases: [base] });
    expect(plan.assumed).toBe(0);
    expect(notes.join()).toContain(`plant-7/line-1 holds ${world.first.slice(0, 19)}`);
  });

  it('refuse a report that the agent did not sign, or of another fleet, site or agent', async () => {
    await using world = await makeKioskWorld();
    const cases = {
      UNKNOWN_KEY: await report(world, [], { name: 'a.json', key: newSigningKey() }),
      WRONG_FLEET: await report(world, [], { name: 'b.json', fleet: 'other' }),
      SITE_MISSING: await report(world, [], { name: 'c.json', agent: 'plant-9/line-1' }),
      AGENT_UNKNOWN: await report(world, [], { name: 'd.json', agent: 'plant-7/line-2' }),
      REPORT_INVALID: await report(world, [], { name: 'e.json', agent: '../x' }),
    };
    for (const [code, path] of Object.entries(cases))
      expect(await refused(world.plan({ bases: [path] }))).toBe(code);
  });

  it('refuse a report with a flipped byte, a release instead of a report, and other files', async () => {
    await using world = await makeKioskWorld();
    const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, [world.first]);
    const json = JSON.parse(statement.toString()) as { dsseEnvelope: { payload: string } };
    const payload = Buffer.from(json.dsseEnvelope.payload, 'base64').toString();
    json.dsseEnvelope.payload = Buffer.from(payload.replace('"bootId":"boot"', '"bootId":"root"')).toString(
      'base64',
    );
    const flipped = await put(world.path('flipped.json'), canonicalBytes(json));
    expect(await refused(world.plan({ bases: [flipped] }))).toBe('BAD_SIGNATURE');

    const { plan } = await world.plan();
    const release = plan.medium.documents.find(({ role }) => role === 'release');
    const statementFile = world.path('layout/blobs/sha256', hexOf(release?.digest ?? world.first));
    expect(await refused(world.plan({ bases: [statementFile] }))).toBe('PREDICATE_TYPE');
    expect(await refused(world.plan({ bases: [world.path('absent')] }))).toBe('MEDIUM_MISSING');
    await mkdir(world.path('empty'));
    expect(await refused(world.plan({ bases: [world.path('empty')] }))).toBe('MEDIUM_EMPTY');
    const cut = await put(world.path('cut.tar'), Buffer.alloc(700, 1));
    expect(await refused(world.plan({ bases: [cut] }))).toBe('MEDIUM_INVALID');
  });

  it('refuse a medium that is older than the floors of the agent', async () => {
    await using world = await makeKioskWorld();
    const floors = { root: 1, site: 1, release: 7, lease: 0, time: formatTime(NOW) };
    expect(await refused(world.plan({ bases: [await report(world, [], { floors })] }))).toBe('ROLLBACK');
  });

  it('send what an import asked for, with the manifests that lead to it, and leave out the rest', async () => {
    await using world = await makeKioskWorld();
    await world.export('stick');
    const { plan: full } = await world.plan();
    const layer = full.blobs.find(({ size }) => size === 50_000);
    const needs = {
      fleet: 'acme',
      agent: 'plant-7/line-1',
      missing: [layer?.digest ?? ''],
      holds: [],
      at: formatTime(NOW),
    };
    await put(world.path('stick/fleet/requests/abc-needs.json'), canonicalBytes(needs));
    await put(world.path('stick/fleet/requests/bad-needs.json'), Buffer.from('{'));
    const { plan, notes } = await world.plan({ to: world.path('stick'), bases: [world.path('stick')] });
    const image = full.index.find(({ annotations }) => Object.values(annotations ?? {})[0]?.includes(':i-'));
    const carried = plan.blobs.map(({ digest }) => digest);
    expect(carried).toContain(layer?.digest);
    expect(carried).toContain(image?.digest);
    expect(plan.assumed).toBeGreaterThan(700);
    expect(plan.bundles[0]?.why).toContain('1 blob asked for');
    // Once, though the stick is both where it came from and where it goes.
    expect(notes.filter((note) => note === 'plant-7/line-1 asks for 1 blob')).toHaveLength(1);
    expect(notes.join()).toContain('bad-needs.json is skipped');
  });

  it('of an earlier medium do not count for another channel', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    await world.export('both', { channels: [KIOSK, GATE] });
    await world.layout.release({
      channel: GATE,
      version: 2,
      bundles: [{ ...bundleOf('gate two'), images: [{ name: 'web', layers: [Buffer.alloc(700, 'one')] }] }],
    });
    const { plan } = await world.plan({ bases: [world.path('both')], channels: [GATE] });
    expect(plan.assumed).toBe(0);
  });

  it('leave nothing out when one agent of the site has not reported, and name it', async () => {
    await using world = await makeKioskWorld();
    const agents = [
      { name: 'line-1', channel: KIOSK, key: world.agent },
      { name: 'line-2', channel: KIOSK, key: newSigningKey() },
      { name: 'gate-1', channel: GATE, key: newSigningKey() },
    ];
    await world.layout.site({ site: 'plant-7', version: 2, agents });
    await second(world);
    const full = await report(world, [world.first]);
    for (const sites of [[], ['plant-7']]) {
      const { plan } = await world.plan({ bases: [full], sites, channels: [KIOSK] });
      expect(plan.assumed).toBe(0);
      expect(plan.bundles[0]?.why).toEqual(['nothing is known of plant-7/line-2: everything']);
    }
  });

  it('leave nothing out when another site on the medium has not reported', async () => {
    await using world = await makeKioskWorld();
    const agents = [{ name: 'line-1', channel: KIOSK, key: newSigningKey() }];
    await world.layout.site({ site: 'plant-8', version: 1, agents });
    await second(world);
    const bases = [await report(world, [world.first])];
    expect((await world.plan({ bases, sites: ['plant-7'] })).plan.assumed).toBe(50_000);
    const { plan } = await world.plan({ bases, sites: ['plant-7', 'plant-8'] });
    expect(plan.assumed).toBe(0);
    expect(plan.bundles[0]?.why).toEqual(['nothing is known of plant-8/line-1: everything']);
  });

  it('of an earlier medium count for every agent, except for agents with a report', async () => {
    await using world = await makeKioskWorld();
    await world.export('earlier');
    const agents = [
      { name: 'line-1', channel: KIOSK, key: world.agent },
      { name: 'line-2', channel: KIOSK, key: newSigningKey() },
    ];
    await world.layout.site({ site: 'plant-7', version: 2, agents });
    await second(world);
    const earlier = world.path('earlier');
    expect((await world.plan({ bases: [earlier], sites: ['plant-7'] })).plan.assumed).toBe(50_000);
    const none = await report(world, []);
    expect((await world.plan({ bases: [earlier, none], sites: ['plant-7'] })).plan.assumed).toBe(0);
  });

  it('include what a moved agent has of its former channel', async () => {
    await using world = await makeKioskWorld();
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    await world.layout.site({
      site: 'plant-7',
      version: 2,
      agents: [{ name: 'line-1', channel: GATE, previousChannel: KIOSK, key: world.agent }],
    });
    const { plan } = await world.plan({ bases: [await report(world, [world.first])], sites: ['plant-7'] });
    expect(plan.medium.bundles).toMatchObject([
      { clusterType: 'gate', assumed: [{ size: 50_000 }], base: [world.first] },
    ]);
    // Its former channel gets nothing by its word any more.
    const kiosk = await world.plan({ bases: [await report(world, [world.first])], channels: [KIOSK] });
    expect(kiosk.plan.assumed).toBe(0);
  });

  it('leave out nothing that an agent removed again in a rollback', async () => {
    await using world = await makeKioskWorld();
    const [two] = await second(world);
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('two', 'kubernetes')] });
    const before = await report(world, [world.first, two as Digest], { name: 'before.json', to: 4 });
    const after = await report(world, [world.first], { name: 'after.json', from: 5, to: 6 });
    const assumed = async (...bases: readonly string[]): Promise<number> =>
      (await world.plan({ bases })).plan.assumed;
    expect(await assumed(before)).toBeGreaterThan(50_000);
    expect(await assumed(after, before)).toBe(50_000);
  });

  it('prefer the later one of two reports of the same events', async () => {
    await using world = await makeKioskWorld();
    await second(world);
    const full = await report(world, [world.first], { name: 'full.json', time: '2026-11-01T00:00:00Z' });
    const later = await report(world, [], { name: 'later.json', time: '2026-11-02T00:00:00Z' });
    expect((await world.plan({ bases: [later, full] })).plan.assumed).toBe(0);
  });

  it('report requested blobs that are on no medium, or that the source lost', async () => {
    await using world = await makeKioskWorld();
    const { plan: full } = await world.plan();
    const layer = full.blobs.find(({ size }) => size === 50_000)?.digest as Digest;
    const stranger = digestOf('of a release long ago');
    const ask = (missing: readonly Digest[]) =>
      put(
        world.path('stick/fleet/requests/abc-needs.json'),
        canonicalBytes({ fleet: 'acme', agent: 'plant-7/line-1', missing, holds: [], at: formatTime(NOW) }),
      );
    await ask([stranger]);
    const { notes } = await world.plan({ to: world.path('stick') });
    expect(notes).toContain(
      `1 blob that plant-7/line-1 asks for is of no release on this medium and is not sent: ${shortDigest(stranger)}`,
    );
    await ask([layer]);
    await rm(world.path('layout/blobs/sha256', hexOf(layer)));
    const lost = world.plan({ to: world.path('stick') });
    await expect(lost).rejects.toThrow('lacks a blob that plant-7/line-1 asks for');
  });
});

describe('the bases "site:<name>"', () => {
  it('use the newest report of each agent of a site, and a full medium for an agent without a report', async () => {
    await using world = await makeKioskWorld();
    await second(world);
    const bases = ['site:plant-7'];
    const nothing = await world.plan({ bases, channels: [KIOSK] });
    expect(nothing.plan.assumed).toBe(0);
    expect(nothing.plan.bundles[0]?.why).toEqual(['no base: everything']);
    expect(nothing.notes.join()).toContain('has no report of site plant-7: everything is sent');
    const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, [world.first]);
    await world.layout.receipts('plant-7', [], [{ agent: 'plant-7/line-1', statement }]);
    const known = await world.plan({ bases, channels: [KIOSK] });
    expect(known.plan.medium.bundles).toMatchObject([{ assumed: [{ size: 50_000 }], base: [world.first] }]);
    // Reports are for the office: a medium carries none.
    expect(known.plan.medium.documents.map(({ role }) => role)).not.toContain('report');
  });

  it('skip a report that its agent did not sign, and leave nothing out', async () => {
    await using world = await makeKioskWorld();
    await second(world);
    const { statement } = await writeReport('acme', 'plant-7/line-1', newSigningKey(), [world.first]);
    await world.layout.receipts('plant-7', [], [{ agent: 'plant-7/line-1', statement }]);
    const { plan, notes } = await world.plan({ bases: ['site:plant-7'], sites: ['plant-7'] });
    expect(plan.assumed).toBe(0);
    expect(notes.join()).toMatch(/the report of plant-7\/line-1 in layout .* is skipped/);
    expect(await refused(world.plan({ bases: ['site:plant-9'] }))).toBe('SITE_MISSING');
  });
});

describe('the base "release:<channel>@<number>"', () => {
  it('finds an older release by its number, for any signing key', async () => {
    await using world = await makeKioskWorld();
    await world.layout.keep(KIOSK);
    await second(world);
    const bases = ['release:prod/kiosk@1'];
    const { plan } = await world.plan({ bases, sites: ['plant-7'] });
    expect(plan.medium.bundles).toMatchObject([{ assumed: [{ size: 50_000 }], base: [world.first] }]);
    expect(plan.bundles[0]?.why).toEqual(['release 1 of prod/kiosk has 1 of 7 blobs']);
    const newest = await world.plan({ bases: ['release:prod/kiosk@2'] });
    expect(newest.plan.assumed).toBeGreaterThan(50_000);
  });

  it('is refused when the release is missing, or signed by an unknown key', async () => {
    await using world = await makeKioskWorld();
    await expect(world.plan({ bases: ['release:prod/kiosk@7'] })).rejects.toMatchObject({
      code: 'CHANNEL_MISSING',
      hint: 'It has 1',
    });
    for (const name of ['release:prod/kiosk', 'release:prod/kiosk@0', 'release:@1'])
      expect(await refused(world.plan({ bases: [name] }))).toBe('USAGE');
    await world.layout.release({
      channel: KIOSK,
      version: 2,
      bundles: [bundleOf('two')],
      releaseKey: newSigningKey(),
    });
    await world.layout.keep(KIOSK);
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('three')] });
    expect(await refused(world.plan({ bases: ['release:prod/kiosk@2'] }))).toBe('UNKNOWN_KEY');
  });
});
