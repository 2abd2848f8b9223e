import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { holdSite, releaseSite } from '../../../../agent/apply/operator/hold-site.ts';
import { rollBackPackage } from '../../../../agent/apply/operator/roll-back-package.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../../agent/observe/read-status.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { readSiteHold, siteHoldEnds } from '../../../../agent/store/site-hold.ts';
import { liveFiles } from '../../folder-target.ts';
import { createWorld, NOW, onePackage, openFast, testAgent, type World } from '../../world.ts';

const HOUR_MS = 3_600_000;
const OFFLINE = { registry: '', hub: '', windows: [] };
const live = (world: World) => liveFiles(join(world.folder, 'machine'));
const later = (hours: number): Date => new Date(NOW.getTime() + hours * HOUR_MS);

/** The agent at a time of its wall clock, and at one of the clock since boot. */
const at = (world: World, hours: number, { up = hours, bootId = 'boot-1' } = {}): Agent =>
  testAgent(world.agent.state, world.folder, {
    edge: {
      now: () => later(hours),
      monotonicMs: () => up * HOUR_MS,
      bootId,
      clockTrusted: true,
      operator: 'anna',
    },
  });

const eventsAbout = (world: World) =>
  world
    .events()
    .flatMap(({ type, message, detail }) =>
      type === 'held' || type === 'released' ? [{ type, message, detail }] : [],
    );

describe('a machine that is held', () => {
  it('accepts a release without applying it, and applies it when the hold ends', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('gone', 'x')]);
    await holdSite(at(world, 0), undefined, 'batch 17 is running');
    const { release, packages } = await world.release(2, [onePackage('app', 'two')]);
    expect(release?.version).toBe(2);
    const why = 'held by anna: batch 17 is running; to end the hold: fleet-agent release';
    expect(packages).toMatchObject([
      { assignment: 'app', outcome: 'skipped', code: 'HELD', message: why },
      { assignment: 'gone', outcome: 'skipped', code: 'HELD', message: why },
    ]);
    for (const hours of [1, 5000]) await lookAround(at(world, hours));
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/gone': 'x' });
    expect(world.events().filter(({ code }) => code === 'HELD')).toHaveLength(2);
    releaseSite(at(world, 5001), 'batch 17 is done');
    const look = await lookAround(at(world, 5001));
    expect(look.packages.map(({ outcome }) => outcome)).toEqual(['configured', 'deleted']);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    expect(eventsAbout(world)).toEqual([
      { type: 'held', message: 'batch 17 is running', detail: { operator: 'anna', until: null } },
      { type: 'released', message: 'batch 17 is done', detail: { operator: 'anna', since: formatTime(NOW) } },
    ]);
  });

  it('reports drift and does not correct it, before and after a restart', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await holdSite(at(world, 0), '8h', 'measuring');
    writeFileSync(join(world.folder, 'machine/live/opt/app'), 'tampered');
    expect(await lookAround(at(world, 1))).toMatchObject({
      drift: [{ corrected: false }],
      held: { reason: 'measuring' },
    });
    using reopened = openFast(join(world.folder, 'state'));
    const restarted = { ...at(world, 2), state: reopened };
    await lookAround(restarted);
    expect(live(world)).toEqual({ '/opt/app': 'tampered' });
    expect(world.events().at(-1)).toMatchObject({ type: 'drift', code: 'DRIFT' });
    expect(readStatus(restarted, OFFLINE).held).toEqual({
      since: formatTime(NOW),
      until: formatTime(later(8)),
      operator: 'anna',
      reason: 'measuring',
    });
    await lookAround(at(world, 8));
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('ends a hold with a duration by the clock since boot, and after a reboot by the wall clock', async () => {
    await using world = await createWorld();
    await holdSite(at(world, 0), '8h', 'batch');
    expect(readSiteHold(at(world, 9000, { up: 7 }))).toBeDefined();
    expect(readSiteHold(at(world, -9000, { up: 8 }))).toBeUndefined();
    expect(readSiteHold(at(world, 7, { up: 0, bootId: 'boot-2' }))).toBeDefined();
    expect(readSiteHold(at(world, 8, { up: 0, bootId: 'boot-2' }))).toBeUndefined();
    expect(siteHoldEnds(at(world, 9000, { up: 7 }))).toEqual(later(9001));
  });

  it('ends a hold with an end time by the wall clock, with one event', async () => {
    await using world = await createWorld();
    const until = formatTime(later(10));
    await holdSite(at(world, 0), until, 'audit');
    expect(readSiteHold(at(world, 9, { up: 500 }))).toBeDefined();
    for (const hours of [10, 11]) await lookAround(at(world, hours));
    expect(eventsAbout(world).map(({ message }) => message)).toEqual([
      'audit',
      'the time of the hold is over',
    ]);
    expect(releaseSite(at(world, 12))).toBeUndefined();
  });

  it.each([
    ['', 'no end, and no reason', ' '],
    ['2026-11-21T07:59:59Z', 'a time that has passed', 'x'],
    ['0h', 'no duration', 'x'],
    ['tomorrow', 'a word', 'x'],
  ])('refuses --until %j: %s', async (until, _, reason) => {
    await using world = await createWorld();
    await expect(holdSite(at(world, 0), until, reason)).rejects.toMatchObject({ code: 'USAGE' });
    expect(eventsAbout(world)).toEqual([]);
  });

  it('lets a person roll back', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await holdSite(at(world, 0), undefined, 'batch');
    await rollBackPackage(at(world, 1), 'app', 'screen stays black');
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('stores a hold and its event together when it is killed in between', async () => {
    await using world = await createWorld();
    const killed: Agent = {
      ...at(world, 0),
      onJournal: () => {
        throw new FleetError('ABORTED', 'the test stops here');
      },
    };
    await holdSite(killed, undefined, 'batch').catch(() => {});
    expect(readSiteHold(at(world, 1))).toBeDefined();
    expect(eventsAbout(world)).toHaveLength(1);
    expect(() => releaseSite(killed)).toThrow();
    expect(readSiteHold(at(world, 1))).toBeUndefined();
    expect(eventsAbout(world)).toHaveLength(2);
  });
});
