import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { readFloors, readTrustRow } from '../../../agent/store/trust.ts';
import { verdict } from '../../bundles/verdict.ts';
import {
  packTestBundle,
  type TestLease,
  type TestRelease,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage, SITE, testAgent, testEdge, type World } from '../world.ts';

const DAY = 86_400;
const OFFLINE = { registry: '', hub: '', windows: [] };

const at = (world: World, days: number, more: Partial<Agent> = {}): Agent =>
  testAgent(world.agent.state, world.folder, { edge: testEdge(addDays(NOW, days)), ...more });

const releaseOf = (world: World, version = 1, content = 'one'): TestRelease => ({
  version,
  bundle: packTestBundle(world.fleet, [onePackage('app', content)]),
});

/** For two weeks from that day on. */
const leaseOf = (release: TestRelease, version: number, day: number): TestLease => ({
  version,
  release,
  issuedAt: addDays(NOW, day),
  expires: addDays(NOW, day + 14),
});

const siteWanting = (world: World, days: number, version = 1) => ({
  site: SITE,
  version,
  agents: [
    {
      name: 'kiosk-1',
      key: world.agent.identity.key,
      freshness: { mode: 'lease', seconds: days * DAY } as const,
    },
  ],
});

describe('a lease on a medium', () => {
  it('M17: renews a release that has ended, alone and in one transaction', async () => {
    await using world = await createWorld();
    const release = releaseOf(world);
    await importMedium(world.agent, await world.medium({ release }));
    const late = at(world, 200);
    expect(readStatus(late, OFFLINE).stale?.causes.map(({ code }) => code)).toEqual(['EXPIRED']);
    // Nothing on it but the roots and the lease.
    const lease = await writeTestMedium(join(world.folder, 'lease'), world.fleet, {
      lease: leaseOf(release, 1, 199),
    });
    const points: string[] = [];
    const result = await importMedium({ ...late, onJournal: (point) => points.push(point) }, lease);
    expect(result).toMatchObject({ release: undefined, leaseVersion: 1, relaxed: [], packages: [] });
    expect(points).toEqual(['accepted']);
    expect(readFloors(world.agent.state)).toMatchObject({
      release: 1,
      lease: 1,
      time: formatTime(addDays(NOW, 199)),
    });
    expect(readStatus(late, OFFLINE)).toMatchObject({
      stale: null,
      release: { stale: false },
      lease: { version: 1, live: true, until: formatTime(addDays(NOW, 213)) },
    });
    expect(world.events().at(-1)).toMatchObject({
      type: 'imported',
      message: 'lease 1 of prod/factory-host, without a release',
      detail: { lease: 1 },
    });
  });

  it('M17: lets an ended release in that was never here', async () => {
    await using world = await createWorld();
    const release = releaseOf(world);
    const medium = await world.medium({ release, lease: leaseOf(release, 1, 195) });
    expect(await verdict(() => importMedium(at(world, 210), medium))).toBe('EXPIRED');
    expect((await importMedium(at(world, 200), medium)).packages).toMatchObject([{ outcome: 'created' }]);
  });

  it('M18: of another release is LEASE_MISMATCH, an older one ROLLBACK, and nothing changes', async () => {
    await using world = await createWorld();
    const release = releaseOf(world);
    await importMedium(world.agent, await world.medium({ release, lease: leaseOf(release, 2, -1) }));
    const row = JSON.stringify(readTrustRow(world.agent.state));
    const foreign = { ...leaseOf(release, 3, 0), about: digestOf('another release') };
    const before = [foreign, leaseOf(release, 1, -2)];
    const refusals = [];
    for (const lease of before) {
      const medium = await world.medium({ lease });
      refusals.push(await verdict(() => importMedium(world.agent, medium)));
    }
    expect(refusals).toEqual(['LEASE_MISMATCH', 'ROLLBACK']);
    expect(JSON.stringify(readTrustRow(world.agent.state))).toBe(row);
    expect(readFloors(world.agent.state).lease).toBe(2);
    expect(world.events().slice(-2)).toMatchObject([{ code: 'LEASE_MISMATCH' }, { code: 'ROLLBACK' }]);
  });

  it('is required when the site statement requires leases: LEASE_MISSING for an old release without one', async () => {
    await using world = await createWorld();
    const [one, two] = [releaseOf(world), releaseOf(world, 2, 'two')];
    const site = siteWanting(world, 14);
    expect(
      await verdict(async () => importMedium(world.agent, await world.medium({ site, release: one }))),
    ).toBe('LEASE_MISSING');
    await importMedium(world.agent, await world.medium({ site, release: one, lease: leaseOf(one, 1, -1) }));
    const late = at(world, 30);
    expect(await verdict(async () => importMedium(late, await world.medium({ site, release: two })))).toBe(
      'LEASE_MISSING',
    );
    // What runs may be read again: there is nothing to install.
    expect(await importMedium(late, await world.medium({ site, release: one }))).toMatchObject({
      news: 'same',
    });
    const medium = await world.medium({ site, release: two, lease: leaseOf(two, 2, 29) });
    expect((await importMedium(late, medium)).packages).toMatchObject([{ outcome: 'configured' }]);
  });

  it('is kept in the store only while it is the newest of its channel', async () => {
    await using world = await createWorld();
    const release = releaseOf(world);
    for (const version of [1, 2, 3]) {
      await importMedium(
        world.agent,
        await world.medium({ release, lease: leaseOf(release, version, -3 + version) }),
      );
    }
    const rows = world.agent.state.db.prepare("SELECT version FROM statement WHERE role = 'lease'").all();
    expect(rows).toEqual([{ version: 3 }]);
  });
});

describe('the break-glass override', () => {
  const wish = { acceptExpired: 'the line stands still' };
  const provisioned = (world: World, days: number): Agent =>
    at(world, days, { policy: { ...world.agent.policy, breakGlass: true } });

  it("is refused without breakGlass in the agent's policy", async () => {
    await using world = await createWorld();
    const medium = await world.medium({ release: releaseOf(world) });
    expect(await verdict(() => importMedium(at(world, 200), medium, wish))).toBe('USAGE');
    expect(world.events().map(({ type }) => type)).toEqual(['enrolled']);
  });

  it.each(['', ' \t'])('requires a reason, and %j is refused', async (acceptExpired) => {
    await using world = await createWorld();
    const medium = await world.medium({ release: releaseOf(world) });
    await expect(importMedium(provisioned(world, 200), medium, { acceptExpired })).rejects.toMatchObject({
      code: 'USAGE',
      subject: '--reason',
    });
    expect(world.events().map(({ type }) => type)).toEqual(['enrolled']);
  });

  it('accepts an expired release, and reports operator, reason and what was relaxed', async () => {
    await using world = await createWorld();
    const agent = provisioned(world, 200);
    const medium = await world.medium({ release: releaseOf(world) });
    expect(await verdict(() => importMedium(agent, medium))).toBe('EXPIRED');
    const result = await importMedium(agent, medium, wish);
    expect(result).toMatchObject({ relaxed: ['release'], packages: [{ outcome: 'created' }] });
    expect(world.events()).toContainEqual(
      expect.objectContaining({
        type: 'operator',
        message: 'the line stands still',
        release: { environment: 'prod', clusterType: 'factory-host', version: 1 },
        detail: { action: 'accept-expired', operator: 'technician', relaxed: ['release'] },
      }),
    );
    expect(readStatus(agent, OFFLINE)).toMatchObject({
      brokenGlass: {
        operator: 'technician',
        reason: 'the line stands still',
        release: 1,
        relaxed: ['release'],
      },
      stale: { causes: [{ code: 'EXPIRED' }] },
    });
  });

  it('ends with the next regular release, not with a lease', async () => {
    await using world = await createWorld();
    const agent = provisioned(world, 200);
    const ended = releaseOf(world);
    await importMedium(agent, await world.medium({ release: ended }), wish);
    await importMedium(agent, await world.medium({ release: ended, lease: leaseOf(ended, 1, 199) }));
    expect(readStatus(agent, OFFLINE).brokenGlass).not.toBeNull();
    const next = { ...releaseOf(world, 2, 'two'), issuedAt: addDays(NOW, 190) };
    await importMedium(agent, await world.medium({ release: next }));
    expect(readStatus(agent, OFFLINE).brokenGlass).toBeNull();
  });

  it('is not reported when nothing had expired, and relaxes no other check', async () => {
    await using world = await createWorld();
    const medium = await world.medium({ release: releaseOf(world, 2) });
    expect(await importMedium(provisioned(world, 0), medium, wish)).toMatchObject({ relaxed: [] });
    expect(world.events().map(({ type }) => type)).not.toContain('operator');
    const old = await world.medium({ release: releaseOf(world, 1) });
    expect(await verdict(() => importMedium(provisioned(world, 200), old, wish))).toBe('ROLLBACK');
    expect(await verdict(() => importMedium(provisioned(world, 700), medium, wish))).toBe('ROOT_EXPIRED');
  });

  it('also applies what it imported when onStale blocks changes', async () => {
    await using world = await createWorld();
    const agent = at(world, 200, {
      policy: { ...world.agent.policy, breakGlass: true, onStale: 'block-changes' },
    });
    const medium = await world.medium({ release: releaseOf(world) });
    expect((await importMedium(agent, medium, wish)).packages).toMatchObject([{ outcome: 'created' }]);
  });
});
