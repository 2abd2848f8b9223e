import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { retryPackages } from '../../../../agent/apply/operator/retry-packages.ts';
import { rollBackPackage } from '../../../../agent/apply/operator/roll-back-package.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../../agent/observe/read-status.ts';
import { readStaleness } from '../../../../agent/acquire/staleness/read-staleness.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { readFloors } from '../../../../agent/store/trust.ts';
import {
  createTestFleet,
  packTestBundle,
  rotateRoot,
  type TestPackage,
  type TestRelease,
  writeTestMedium,
} from '../../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../../folder-target.ts';
import { createWorld, NOW, onePackage, POLICY, SITE, testAgent, testEdge, type World } from '../../world.ts';

const DAY = 86_400;
const OFFLINE = { registry: '', hub: '', windows: [] };
const live = (world: World) => liveFiles(join(world.folder, 'machine'));

const at = (world: World, days: number, more: Partial<Agent> = {}): Agent =>
  testAgent(world.agent.state, world.folder, { edge: testEdge(addDays(NOW, days)), ...more });

const releaseOf = (world: World, version: number, packages: readonly TestPackage[]): TestRelease => ({
  version,
  bundle: packTestBundle(world.fleet, packages),
});

const leaseOf = (release: TestRelease, version: number, day: number, length = 14) => ({
  version,
  release,
  issuedAt: addDays(NOW, day),
  expires: addDays(NOW, day + length),
});

const order = (world: World, days: number | undefined, version = 1) => ({
  site: SITE,
  version,
  agents: [
    {
      name: 'kiosk-1',
      key: world.agent.identity.key,
      ...(days === undefined ? {} : { freshness: { mode: 'lease', seconds: days * DAY } as const }),
    },
  ],
});

const causes = (agent: Agent) =>
  readStaleness(agent)?.causes.map(({ what, code, since }) => [what, code, since]);

describe('the staleness of an agent', () => {
  it('does not begin before it has a release, nor while a statement is valid', async () => {
    await using world = await createWorld();
    expect(readStaleness(at(world, 1000))).toBeUndefined();
    await world.release(1, [onePackage('app', 'one')]);
    expect(readStaleness(world.agent)).toBeUndefined();
  });

  it('becomes stale at the second in which its release ends', async () => {
    await using world = await createWorld();
    const expires = addDays(NOW, 10);
    const release = { ...releaseOf(world, 1, [onePackage('app', 'one')]), expires };
    await importMedium(world.agent, await world.medium({ release }));
    const before = testAgent(world.agent.state, world.folder, {
      edge: testEdge(new Date(expires.getTime() - 1)),
    });
    expect(causes(before)).toBeUndefined();
    expect(causes(at(world, 10))).toEqual([['release', 'EXPIRED', formatTime(expires)]]);
  });

  it('begins when the required lease is older than the site statement allows', async () => {
    await using world = await createWorld();
    const release = releaseOf(world, 1, [onePackage('app', 'one')]);
    const lease = leaseOf(release, 1, -1, 60);
    await importMedium(world.agent, await world.medium({ site: order(world, 14), release, lease }));
    expect(causes(at(world, 13))).toBeUndefined();
    expect(causes(at(world, 14))).toEqual([['lease', 'LEASE_MISSING', formatTime(addDays(NOW, 13))]]);
  });

  it('can have several causes, and begins with the first', async () => {
    await using world = await createWorld();
    const release = releaseOf(world, 1, [onePackage('app', 'one')]);
    const lease = leaseOf(release, 1, -1);
    await importMedium(world.agent, await world.medium({ site: order(world, 14), release, lease }));
    const late = at(world, 800);
    expect(causes(late)?.map(([what]) => what)).toEqual(['root', 'site', 'release', 'lease']);
    expect(readStaleness(late)?.since).toBe(formatTime(addDays(NOW, 13)));
    for (const { why, todo } of readStaleness(late)?.causes ?? []) {
      expect(why).not.toBe('');
      expect(todo).toMatch(/^ask for /);
    }
  });

  it('ignores a lease whose key the root no longer names', async () => {
    await using world = await createWorld();
    const release = releaseOf(world, 1, [onePackage('app', 'one')]);
    const lease = leaseOf(release, 1, -1);
    await importMedium(world.agent, await world.medium({ site: order(world, 14), release, lease }));
    expect(causes(world.agent)).toBeUndefined();
    const rotated = await rotateRoot(world.fleet, { lease: (await createTestFleet('x')).keys.lease });
    await importMedium(world.agent, await writeTestMedium(join(world.folder, 'rotated'), rotated, {}));
    expect(causes(world.agent)?.map(([what]) => what)).toEqual(['lease']);
    expect(readStatus(world.agent, OFFLINE)).toMatchObject({ lease: null });
    // Its floor fell with its key.
    expect(readFloors(world.agent.state).lease).toBe(0);
  });

  it('is reported when it begins and when it ends, once each', async () => {
    await using world = await createWorld();
    const release = releaseOf(world, 1, [onePackage('app', 'one')]);
    await importMedium(world.agent, await world.medium({ release }));
    const told = () => world.events().filter(({ type }) => type === 'stale');
    await lookAround(at(world, 100));
    expect(told()).toEqual([]);
    for (const day of [200, 201, 202]) await lookAround(at(world, day));
    expect(told()).toMatchObject([
      {
        code: 'EXPIRED',
        message: expect.stringContaining('release 1 of prod/factory-host ended at '),
        release: { version: 1 },
        detail: { causes: [{ what: 'release' }] },
      },
    ]);
    await importMedium(at(world, 203), await world.medium({ release, lease: leaseOf(release, 1, 202) }));
    await lookAround(at(world, 204));
    expect(told()).toHaveLength(2);
    expect(told()[1]).toMatchObject({ outcome: 'unchanged', detail: { since: expect.any(String) } });
    await lookAround(at(world, 217));
    expect(told()).toHaveLength(3);
  });
});

describe('a stale agent', () => {
  const drift = (world: World): void => writeFileSync(join(world.folder, 'machine/live/opt/app'), 'tampered');
  const checks = [{ type: 'exec', name: 'x', argv: ['false'], timeoutSeconds: 1 }] as const;
  const blocking = { policy: { ...POLICY, onStale: 'block-changes' } as const };

  it('corrects drift and retries failed packages', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    drift(world);
    const look = await lookAround(at(world, 200));
    expect(look.drift).toMatchObject([{ corrected: true }]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('changes nothing with block-changes, and still reports drift', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    drift(world);
    const look = await lookAround(at(world, 200, blocking));
    expect(look.drift).toMatchObject([
      { corrected: false, drift: [{ key: expect.stringContaining('/opt/app') }] },
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'tampered' });
    expect(world.events().at(-1)).toMatchObject({ type: 'drift', code: 'DRIFT' });
    await lookAround(at(world, 100, blocking));
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('with block-changes applies no new release, reports why once, and applies it when a lease comes', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('gone', 'x')]);
    const second = releaseOf(world, 2, [onePackage('app', 'two')]);
    // Accepted while all was well; the power went before anything was applied.
    const onJournal = (point: string): void => {
      if (point === 'accepted') throw new FleetError('ABORTED', 'the test stops here');
    };
    const cut = { ...world.agent, onJournal };
    await importMedium(cut, await world.medium({ release: second })).catch(() => {});
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ desired: { release: { version: 2 } } });
    const events = () => world.events().filter(({ code }) => code === 'STALE').length;
    for (const day of [200, 201]) {
      const { packages } = await lookAround(at(world, day, blocking));
      expect(packages).toMatchObject([
        {
          assignment: 'app',
          outcome: 'skipped',
          code: 'STALE',
          message: expect.stringContaining('block-changes'),
        },
        { assignment: 'gone', outcome: 'skipped', code: 'STALE' },
      ]);
    }
    expect(events()).toBe(2);
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/gone': 'x' });
    const renewed = await world.medium({ release: second, lease: leaseOf(second, 1, 201) });
    const { packages } = await importMedium(at(world, 202, blocking), renewed);
    expect(packages.map(({ outcome }) => outcome)).toEqual(['configured', 'deleted']);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
  });

  it('with block-changes retries no failed package automatically, and allows a rollback by a person', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await world.release(3, [onePackage('app', 'three', { checks })]);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    const stale = at(world, 200, blocking);
    expect(await retryPackages(stale, [])).toMatchObject([{ outcome: 'failed', code: 'CHECK_FAILED' }]);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    await rollBackPackage(stale, 'app', 'the screen stays black');
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(readStatus(stale, OFFLINE).stale).not.toBeNull();
  });
});
