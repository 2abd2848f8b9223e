import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Edge } from '../../../agent/model/edge.ts';
import { examineLooks } from '../../../agent/observe/examine-looks.ts';
import { judgeLook } from '../../../agent/observe/judge-look.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { holdServiceLock, serviceState } from '../../../agent/store/service-lock.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { live } from '../set-world.ts';
import { createWorld, NOW, onePackage, SITE, testEdge, type World } from '../world.ts';

const OFFLINE = { registry: '', hub: '', windows: [], interval: '5m' };
const MINUTE = 60_000;

/** A time after NOW, since the boot of the first look or since another one. */
const after = (ms: number, boot = 'boot-1', monotonicMs = ms): Edge => ({
  ...testEdge(new Date(NOW.getTime() + ms)),
  bootId: boot,
  monotonicMs: () => monotonicMs,
});
const statusAt = (world: World, edge: Edge = after(0)) => readStatus({ ...world.agent, edge }, OFFLINE);
const lookAt = (world: World, edge: Edge) => judgeLook({ ...world.agent, edge }, OFFLINE);
const appAt = (world: World, edge?: Edge) => statusAt(world, edge).packages[0];

const started = async (): Promise<World> => {
  const world = await createWorld();
  await world.release(1, [onePackage('app', 'one')]);
  return world;
};

describe('a package is healthy', () => {
  it('if the last look is recent, by the clock since boot or, after a boot, by the wall clock', async () => {
    await using world = await started();
    expect(statusAt(world).look).toBe('2026-11-21T08:00:00Z');
    expect(lookAt(world, after(0)).last).toMatchObject({ ageSeconds: 0 });
    for (const edge of [after(29 * MINUTE), after(29 * MINUTE, 'boot-2', 0)])
      expect(appAt(world, edge)).toMatchObject({ status: 'healthy', isOld: false, code: null });
    for (const edge of [after(31 * MINUTE), after(31 * MINUTE, 'boot-2', 0)])
      expect(appAt(world, edge)).toMatchObject({
        status: 'unknown',
        isOld: true,
        code: 'HEALTH_UNKNOWN',
        message: 'it was last compared at 2026-11-21T08:00:00Z',
      });
    const later = { ...world.agent, edge: after(40 * MINUTE) };
    await lookAround(later);
    expect(appAt(world, after(41 * MINUTE))).toMatchObject({
      status: 'healthy',
      looked: '2026-11-21T08:40:00Z',
    });
    expect(lookAt(world, after(41 * MINUTE)).looked('app')).toMatchObject({ ageSeconds: 60 });
  });

  it('independently of wall clock changes within one boot, but not after a boot with an earlier clock', async () => {
    await using world = await started();
    expect(appAt(world, after(-300 * MINUTE, 'boot-1', MINUTE))).toMatchObject({
      status: 'healthy',
    });
    expect(lookAt(world, after(-300 * MINUTE, 'boot-1', MINUTE)).last).toMatchObject({ ageSeconds: 60 });
    expect(lookAt(world, after(-300 * MINUTE, 'boot-2', MINUTE)).last).toMatchObject({ ageSeconds: null });
    expect(appAt(world, after(-300 * MINUTE, 'boot-2', MINUTE))).toMatchObject({
      status: 'unknown',
      message: 'it was last compared at 2026-11-21T08:00:00Z, and the clock was set back since',
    });
  });

  it('only while the service runs, once it has run on this machine', async () => {
    await using world = await started();
    const { directory } = world.agent.state;
    expect(statusAt(world).service).toEqual({ running: false, expected: false, todo: null });
    expect(examineLooks(world.agent, OFFLINE)).toEqual([]);
    {
      using lock = await holdServiceLock(directory);
      expect(lock).toBeDefined();
      expect(serviceState(directory)).toBe('running');
      expect(statusAt(world).service).toEqual({ running: true, expected: true, todo: null });
      expect(appAt(world)).toMatchObject({ status: 'healthy' });
      expect(examineLooks(world.agent, OFFLINE)).toMatchObject([{ verdict: 'good' }]);
    }
    expect(serviceState(directory)).toBe('stopped');
    expect(statusAt(world).service).toMatchObject({ running: false, todo: 'fleet-agent run' });
    expect(appAt(world)).toMatchObject({
      status: 'unknown',
      message: 'it was last compared at 2026-11-21T08:00:00Z, and the service is not running',
    });
    expect(examineLooks(world.agent, OFFLINE)).toMatchObject([
      { name: 'service', verdict: 'bad', message: expect.stringContaining('"fleet-agent run" starts it') },
    ]);
  });

  it('not while its live state cannot be read, and not before it was compared once', async () => {
    await using world = await started();
    const [target] = world.agent.targets;
    const broken = { ...target, observe: () => Promise.reject(new Error('no answer')) } as typeof target;
    const edge = after(10 * MINUTE);
    await lookAround({ ...world.agent, edge, targets: broken ? [broken] : [] });
    expect(appAt(world, edge)).toMatchObject({
      status: 'unknown',
      message: 'its live state could not be read',
      looked: '2026-11-21T08:00:00Z',
    });
    await rm(join(world.agent.state.directory, 'look.json'));
    expect(appAt(world, edge)).toMatchObject({
      status: 'unknown',
      looked: null,
      message: 'it was not compared with its release yet',
    });
    // As after a power cut.
    writeFileSync(join(world.agent.state.directory, 'look.json'), '\0\0');
    expect(statusAt(world, edge)).toMatchObject({ look: null });
  });
});

describe('an import', () => {
  const medium = (world: World) => {
    const agents = [{ name: 'kiosk-1', key: world.agent.identity.key }];
    const release = { version: 1, bundle: packTestBundle(world.fleet, [onePackage('app', 'one')]) };
    return world.medium({ site: { site: SITE, version: 1, agents }, release });
  };

  it('compares the live state also without a new release, and corrects a deleted file', async () => {
    await using world = await createWorld();
    const stick = await medium(world);
    expect(await importMedium(world.agent, stick)).toMatchObject({
      packages: [{ outcome: 'created' }],
      drift: [{ assignment: 'app', drift: [] }],
    });
    await rm(join(world.folder, 'machine/live/opt/app'));
    expect(await importMedium(world.agent, stick)).toMatchObject({
      news: 'same',
      packages: [],
      drift: [{ assignment: 'app', corrected: true }],
    });
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('reports a deleted file without correcting it when onDrift is "report"', async () => {
    await using world = await createWorld();
    const stick = await medium(world);
    await importMedium(world.agent, stick);
    await rm(join(world.folder, 'machine/live/opt/app'));
    const agent = { ...world.agent, policy: { ...world.agent.policy, onDrift: 'report' } } as const;
    expect(await importMedium(agent, stick)).toMatchObject({
      drift: [{ assignment: 'app', corrected: false, drift: [{ what: 'missing' }] }],
    });
    expect(live(world)).toEqual({});
    expect(appAt(world)).toMatchObject({ drift: [{ what: 'missing' }] });
  });
});
