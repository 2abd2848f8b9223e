import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { lookAtDrift } from '../../../agent/observe/observe.ts';
import { readHistory } from '../../../agent/observe/read-history.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, NOW, onePackage, POLICY, testEdge, type World } from '../world.ts';

const OFFLINE = { registry: '', hub: '', windows: [] };

const file = (world: World) => join(world.folder, 'machine/live/opt/app');
const live = (world: World) => liveFiles(join(world.folder, 'machine'));
const told = (world: World, count: number) =>
  world
    .events()
    .slice(count)
    .map(({ type, code, outcome }) => [type, code, outcome]);

const worldWithApp = async (onDrift: 'correct' | 'report' = 'correct'): Promise<World> => {
  const world = await createWorld(undefined, { policy: { ...POLICY, onDrift } });
  await world.release(1, [onePackage('app', 'one')]);
  return world;
};

describe('a look at a machine', () => {
  it('without drift changes nothing and records no event', async () => {
    await using world = await worldWithApp();
    const count = world.events().length;
    const look = await lookAround(world.agent);
    expect(look).toEqual({ packages: [], drift: [{ assignment: 'app', drift: [] }] });
    expect(world.events()).toHaveLength(count);
  });

  it('corrects drift, with one event for the drift and one for the correction', async () => {
    await using world = await worldWithApp();
    const count = world.events().length;
    writeFileSync(file(world), 'edited');
    expect((await lookAround(world.agent)).drift).toMatchObject([
      { drift: [{ key: 'file:/opt/app', what: 'content' }] },
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(told(world, count)).toEqual([
      ['drift', 'DRIFT', undefined],
      ['corrected', undefined, 'configured'],
    ]);
    expect(findPackage(world.agent.state, 'app')?.drift).toBeUndefined();
    await lookAround(world.agent);
    expect(world.events()).toHaveLength(count + 2);
  });

  it('only reports drift with onDrift "report": once, until it changes or ends', async () => {
    await using world = await worldWithApp('report');
    const count = world.events().length;
    rmSync(file(world));
    await lookAround(world.agent);
    await lookAround(world.agent);
    expect(told(world, count)).toEqual([['drift', 'DRIFT', undefined]]);
    expect(live(world)).toEqual({});
    writeFileSync(file(world), 'edited');
    await lookAround(world.agent);
    expect(told(world, count)).toHaveLength(2);
    writeFileSync(file(world), 'one');
    await lookAround(world.agent);
    expect(told(world, count)[2]).toEqual(['drift', undefined, 'unchanged']);
    expect(findPackage(world.agent.state, 'app')?.drift).toBeUndefined();
  });

  it('that cannot read the live state is an error, and never without drift', async () => {
    await using world = await worldWithApp();
    const count = world.events().length;
    writeFileSync(file(world), 'unreadable');
    const seen = [
      { assignment: 'app', drift: [], error: { code: 'IO', message: '/opt/app cannot be read' } },
    ];
    expect(await lookAtDrift(world.agent)).toEqual(seen);
    expect((await lookAround(world.agent)).drift).toEqual(seen);
    expect(told(world, count)).toEqual([['drift', 'IO', undefined]]);
    expect(readStatus(world.agent, OFFLINE).packages[0]?.unreadable).toBe('IO: /opt/app cannot be read');
  });

  it('that cannot compare an object does not change it, reports it once, and makes the package unknown until it can', async () => {
    await using world = await worldWithApp();
    const setup = {
      key: 'playbook:/a/setup',
      what: 'cannot be checked',
      message: 'setup cannot be checked',
      unchecked: true,
    } as const;
    const uncheckable = {
      ...world.agent,
      targets: world.agent.targets.map((target) => ({
        ...target,
        observe: async (...asked: Parameters<typeof target.observe>) => [
          ...(await target.observe(...asked)),
          setup,
        ],
      })),
    };
    const count = world.events().length;
    const seen = [{ assignment: 'app', drift: [], unchecked: [setup] }];
    expect(await lookAtDrift(uncheckable)).toEqual(seen);
    expect((await lookAround(uncheckable)).drift).toEqual(seen);
    await lookAround(uncheckable);
    expect(told(world, count)).toEqual([['package', 'HEALTH_UNKNOWN', 'unchanged']]);
    const status = () => readStatus(world.agent, OFFLINE).packages[0];
    expect(status()).toMatchObject({
      status: 'unknown',
      code: 'HEALTH_UNKNOWN',
      message: 'setup cannot be checked',
      drift: [],
    });

    writeFileSync(file(world), 'edited');
    await lookAround(uncheckable);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(status()?.status).toBe('unknown');
    await lookAround(world.agent);
    expect(told(world, count).slice(1)).toEqual([
      ['drift', 'DRIFT', undefined],
      ['corrected', undefined, 'configured'],
      ['package', undefined, 'unchanged'],
    ]);
    expect(status()?.status).toBe('healthy');
  });

  it('with lookAtDrift changes nothing', async () => {
    await using world = await worldWithApp();
    const count = world.events().length;
    writeFileSync(file(world), 'edited');
    expect(await lookAtDrift(world.agent)).toMatchObject([{ drift: [{ what: 'content' }] }]);
    expect(await lookAtDrift(world.agent, ['app'])).toMatchObject([{ assignment: 'app' }]);
    await expect(lookAtDrift(world.agent, ['ap'])).rejects.toMatchObject({ code: 'USAGE' });
    expect(live(world)).toEqual({ '/opt/app': 'edited' });
    expect(world.events()).toHaveLength(count);
  });
});

describe('a broken package', () => {
  const mended = (world: World) => join(world.folder, 'machine/mended');
  const checks = [{ type: 'exec', name: 'answers', argv: ['mended'], timeoutSeconds: 1 }] as const;

  it('whose checks fail after a correction is reported once, judged again after a pause, and reported on recovery', async () => {
    await using world = await createWorld();
    writeFileSync(mended(world), '');
    await world.release(1, [onePackage('app', 'one', { checks })]);
    rmSync(mended(world));
    writeFileSync(file(world), 'edited');
    const count = world.events().length;
    expect((await lookAround(world.agent)).drift).toMatchObject([
      { corrected: false, failure: { code: 'CHECK_FAILED' } },
    ]);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken', code: 'CHECK_FAILED' });
    const after = world.events().length;
    await lookAround(world.agent);
    expect(told(world, count).slice(0, after - count)).toEqual([
      ['drift', 'DRIFT', undefined],
      ['corrected', undefined, 'configured'],
      ['package', 'CHECK_FAILED', 'failed'],
      ['check', 'CHECK_FAILED', 'failed'],
    ]);
    writeFileSync(mended(world), '');
    await lookAround(world.agent);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken' });
    const later = { ...world.agent, edge: testEdge(new Date(NOW.getTime() + 5000)) };
    expect((await lookAround(later)).drift).toMatchObject([{ drift: [], corrected: true }]);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'healthy', drift: undefined });
    // The office heard 'failed' as a step, so it hears as a step that this is over.
    expect(told(world, after)).toEqual([
      ['package', undefined, 'unchanged'],
      ['check', undefined, undefined],
    ]);
    const end = world.events().length;
    await lookAround(later);
    expect(world.events()).toHaveLength(end);
  });

  it('whose rollback failed is rolled back once the machine allows it', async () => {
    await using world = await createWorld();
    writeFileSync(mended(world), '');
    await world.release(1, [onePackage('app', 'refuse unless mended')]);
    rmSync(mended(world));
    await world.release(2, [onePackage('app', 'two', { checks })]);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken', code: 'APPLY_FAILED' });
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    writeFileSync(mended(world), '');
    await lookAround(world.agent);
    expect(live(world)).toEqual({ '/opt/app': 'refuse unless mended' });
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'failed', code: 'CHECK_FAILED' });
  });
});

describe('the status', () => {
  it('is unknown while a check was skipped, in the status and in the package event', async () => {
    await using world = await createWorld();
    const exec = (name: string, word: string) =>
      ({ type: 'exec', name, argv: [word], timeoutSeconds: 1 }) as const;
    const checks = [exec('answers', 'true'), exec('runs', 'skip')];
    const said = { code: 'HEALTH_UNKNOWN', message: 'nobody looked' };
    for (const version of [1, 2]) {
      await world.release(version, [onePackage('app', `${version}`, { checks })]);
      expect(readStatus(world.agent, OFFLINE).packages).toMatchObject([{ status: 'unknown', ...said }]);
      const event = world.events().findLast(({ type }) => type === 'package');
      expect(event).toMatchObject({ assignment: 'app', ...said });
    }
    expect(world.events().find(({ type }) => type === 'check')).toMatchObject({
      message: '1 of 2 checks passed, 1 skipped',
    });
    await world.release(3, [onePackage('app', '3', { checks: [exec('answers', 'true')] })]);
    expect(readStatus(world.agent, OFFLINE).packages).toMatchObject([{ status: 'healthy', code: null }]);
  });

  it('has channel, release with its age, packages and events that wait to be reported', async () => {
    await using world = await worldWithApp();
    expect(readStatus(world.agent, OFFLINE)).toMatchObject({
      agent: 'plant-7/kiosk-1',
      channel: 'prod/factory-host',
      release: { version: 1, ageDays: 20, stale: false, follows: 1 },
      root: { version: 1, expired: false, dev: false },
      packages: [{ assignment: 'app', status: 'healthy', runs: { release: 1 }, wanted: null }],
      outbox: { events: 3, from: 1, to: 3 },
      unfinished: null,
    });
  });

  it('is stale when the release has expired, while its packages keep running', async () => {
    await using world = await worldWithApp();
    const late = { ...world.agent, edge: testEdge(addDays(NOW, 400)) };
    expect(readStatus(late, OFFLINE).release).toMatchObject({ stale: true });
    await lookAround(late);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('has the wanted release when another one runs', async () => {
    await using world = await worldWithApp();
    const checks = [{ type: 'exec', name: 'x', argv: ['false'], timeoutSeconds: 1 }] as const;
    await world.release(2, [onePackage('app', 'two', { checks })]);
    expect(readStatus(world.agent, OFFLINE).packages).toMatchObject([
      { status: 'failed', code: 'CHECK_FAILED', runs: { release: 1 }, wanted: { release: 2 } },
    ]);
  });
});

describe('the history', () => {
  it('lists operations and events, newest first', async () => {
    await using world = await worldWithApp();
    await world.release(2, [onePackage('app', 'two')]);
    const history = readHistory(world.agent.state, 2);
    expect(history.operations).toMatchObject([
      { assignment: 'app', kind: 'apply', outcome: 'kept', objects: { configured: 1 } },
      { assignment: 'app', kind: 'apply', outcome: 'kept', objects: { created: 1 } },
    ]);
    expect(history.events.map(({ seq }) => seq)).toEqual([5, 4]);
  });
});
