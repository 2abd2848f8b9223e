import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import type { Agent } from '../../../agent/store/agent.ts';
import type { Edge } from '../../../agent/model/edge.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { lookOnly } from '../../../agent/observe/observe.ts';
import { reportedLooks } from '../../../agent/observe/reported-looks.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { holdServiceLock } from '../../../agent/store/service-lock.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, NOW, onePackage, type World } from '../world.ts';

/** Minutes after NOW by both clocks. */
const edgeAt = (minutes: number, wall = new Date(NOW.getTime() + minutes * 60_000)): Edge => ({
  now: () => wall,
  monotonicMs: () => minutes * 60_000,
  bootId: 'boot-1',
  clockTrusted: true,
  operator: 'technician',
});
const at = (minutes: number): string => formatTime(edgeAt(minutes).now());
const agentAt = (world: World, minutes: number): Agent => ({ ...world.agent, edge: edgeAt(minutes) });

const worldWithTwo = async (): Promise<World> => {
  const world = await createWorld(undefined, { edge: edgeAt(0) });
  await world.release(1, [onePackage('app', 'one'), onePackage('db', 'two')]);
  return world;
};

describe('reportedLooks', () => {
  it('has the time of the last look, not of the report', async () => {
    await using world = await worldWithTwo();
    await lookAround(agentAt(world, 5));
    expect(reportedLooks(agentAt(world, 90))).toEqual({
      lookedAt: at(5),
      looks: { service: 'none', packages: {} },
    });
  });

  it('names a package that could not be compared, with the time when it last was', async () => {
    await using world = await worldWithTwo();
    await world.release(2, [onePackage('app', 'one'), onePackage('db', 'two'), onePackage('web', 'three')]);
    writeFileSync(join(world.folder, 'machine/live/opt/db'), 'unreadable');
    await lookAround(agentAt(world, 5));
    expect(reportedLooks(agentAt(world, 6)).looks.packages).toEqual({ db: at(0) });
    expect(reportedLooks(agentAt(world, 6)).lookedAt).toBe(at(5));
    // Where too many would have to be named, the oldest time counts for all.
    expect(reportedLooks(agentAt(world, 6), 0)).toMatchObject({ lookedAt: at(0), looks: { packages: {} } });
  });

  it('counts by the clock since boot, relative to the time of the report after the wall clock was set', async () => {
    await using world = await worldWithTwo();
    await lookAround(agentAt(world, 5));
    const set = { ...world.agent, edge: edgeAt(15, addDays(NOW, 30)) };
    expect(reportedLooks(set).lookedAt).toBe(formatTime(new Date(addDays(NOW, 30).getTime() - 600_000)));
    const setBackOverBoot = { ...edgeAt(15, addDays(NOW, -1)), bootId: 'boot-2' };
    expect(reportedLooks({ ...world.agent, edge: setBackOverBoot })).toEqual({
      looks: { service: 'none', packages: { app: null, db: null } },
    });
  });

  it('has whether the service runs', async () => {
    await using world = await worldWithTwo();
    const service = () => reportedLooks(world.agent).looks.service;
    const lock = await holdServiceLock(world.agent.state.directory);
    expect(service()).toBe('running');
    lock?.[Symbol.dispose]();
    expect(service()).toBe('stopped');
  });
});

describe('a look for a report', () => {
  it('reports drift and changes nothing, with any policy', async () => {
    await using world = await worldWithTwo();
    writeFileSync(join(world.folder, 'machine/live/opt/app'), 'edited');
    const count = world.events().length;
    expect(await lookOnly(agentAt(world, 9))).toMatchObject([
      { assignment: 'app', drift: [{ what: 'content' }] },
      { assignment: 'db', drift: [] },
    ]);
    expect(liveFiles(join(world.folder, 'machine'))['/opt/app']).toBe('edited');
    expect(
      world
        .events()
        .slice(count)
        .map(({ type, code }) => [type, code]),
    ).toEqual([['drift', 'DRIFT']]);
    expect(reportedLooks(agentAt(world, 9)).lookedAt).toBe(at(9));
  });
});

describe('checks that passed when a package was applied', () => {
  it('are repeated at each look; a failing one makes the package broken, with an event', async () => {
    await using world = await worldWithTwo();
    let passes = true;
    const dying: Agent = {
      ...world.agent,
      targets: world.agent.targets.map((target) => ({
        ...target,
        leavesOpen: () => true,
        passesChecks: async ({ assignment }) => passes || assignment !== 'app',
        settle: async ({ assignment }) => [
          {
            name: 'answers',
            outcome: passes || assignment !== 'app' ? ('passed' as const) : ('failed' as const),
            message: 'does not answer',
          },
        ],
      })),
    };
    const count = world.events().length;
    await lookAround(dying);
    expect(world.events()).toHaveLength(count);
    passes = false;
    await lookOnly(dying);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken', code: 'CHECK_FAILED' });
    expect(findPackage(world.agent.state, 'db')?.status).toBe('healthy');
    expect(
      world
        .events()
        .slice(count)
        .map(({ type, code, outcome }) => [type, code, outcome]),
    ).toContainEqual(['package', 'CHECK_FAILED', 'failed']);
    passes = true;
    // Broken packages are tried again after a pause.
    await lookAround({ ...dying, edge: edgeAt(30) });
    await lookAround({ ...dying, edge: edgeAt(60) });
    expect(findPackage(world.agent.state, 'app')?.status).toBe('healthy');
  });
});
