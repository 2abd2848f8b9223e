import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../../agent/model/target.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { lookAtDrift } from '../../../agent/observe/observe.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, NOW, onePackage, POLICY, testEdge, type World } from '../world.ts';

const OFFLINE = { registry: '', hub: '', windows: [] };
const SINCE = '2026-11-21T08:00:00Z';
const WHY = `File held is being deleted since ${SINCE}: finalizers hold it: example.org/stuck`;
const RETRY = '; end what holds it, then run: fleet-agent retry app';

/** A machine where /opt/held goes only when the test lets it; each step is a group of its own, as on a cluster. */
const holding = (world: World) => {
  const machine = folderTarget(join(world.folder, 'machine'));
  let held = true;
  const target: Target = {
    ...machine,
    plan: async (...args) => {
      const plan = await machine.plan(...args);
      return { ...plan, steps: plan.steps.map((step, group) => ({ ...step, group })) };
    },
    execute: async (step, desired, signal) => {
      if (held && step.outcome === 'deleted' && step.key.endsWith('/held')) {
        const leaving = { since: SINCE, message: WHY };
        return { key: step.key, outcome: 'skipped', reason: WHY, state: { leaving } };
      }
      return machine.execute(step, desired, signal);
    },
  };
  Object.assign(world.agent, { targets: [target], policy: { ...POLICY, onDrift: 'report', pruneBudget: 2 } });
  return {
    letGo: () => {
      held = false;
    },
    look: (seconds: number) =>
      lookAround({ ...world.agent, edge: testEdge(new Date(NOW.getTime() + seconds * 1000)) }),
    at: (seconds: number) => ({
      ...world.agent,
      edge: testEdge(new Date(NOW.getTime() + seconds * 1000)),
    }),
  };
};

const live = ({ folder }: World) => Object.keys(liveFiles(join(folder, 'machine')));
const three = { files: { '/opt/a': '1', '/opt/held': '1', '/opt/later': '1' } };

describe('an object whose deletion is held by a finalizer', () => {
  it('does not fail the release: a removal that depends on it waits, and happens when it is released', async () => {
    await using world = await createWorld();
    const it = holding(world);
    await world.release(1, [onePackage('app', '', three)]);
    const { packages } = await world.release(2, [onePackage('app', '', { files: { '/opt/a': '2' } })]);
    expect(packages).toMatchObject([{ outcome: 'configured', message: `${WHY}${RETRY}` }]);
    expect(live(world)).toEqual(['/opt/a', '/opt/held', '/opt/later']);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({
      status: 'healthy',
      current: { release: { version: 2 } },
    });
    expect(readStatus(it.at(185), OFFLINE).packages).toMatchObject([
      { status: 'healthy', code: 'REMOVAL_WAITS', message: `${WHY} (for 3 min)${RETRY}` },
    ]);
    const told = world.events().length;
    await it.look(5);
    expect(world.events()).toHaveLength(told);
    it.letGo();
    // Its pause is ten seconds by now.
    await it.look(14);
    expect(live(world)).toContain('/opt/held');
    await it.look(15);
    expect(live(world)).toEqual(['/opt/a']);
    expect(readOwned(world.agent.state, 'app').map(({ key }) => key)).toEqual(['file:/opt/a']);
    expect(world.events().slice(told)).toMatchObject([
      { type: 'corrected', outcome: 'configured', message: 'the deletion is complete' },
    ]);
    await it.look(1000);
    expect(world.events()).toHaveLength(told + 1);
    expect(readStatus(world.agent, OFFLINE).packages).toMatchObject([{ code: null }]);
  });

  it('delays the removal of its package, of which nothing is created again', async () => {
    await using world = await createWorld();
    const it = holding(world);
    const kept = onePackage('kept', 'k');
    await world.release(1, [kept, onePackage('app', '', three)]);
    const { packages } = await world.release(2, [kept]);
    expect(packages).toMatchObject([{ assignment: 'app', outcome: 'skipped', code: 'REMOVAL_WAITS' }]);
    const told = world.events().length;
    expect(live(world)).not.toContain('/opt/a');
    expect(await lookAtDrift(world.agent)).toMatchObject([{ assignment: 'kept' }]);
    await it.look(1);
    await it.look(60);
    expect(world.events()).toHaveLength(told);
    expect(live(world)).not.toContain('/opt/a');
    it.letGo();
    await it.look(600);
    expect(live(world)).toEqual(['/opt/kept']);
    expect(findPackage(world.agent.state, 'app')).toBeUndefined();
    expect(world.events().slice(told)).toMatchObject([{ type: 'removed', outcome: 'deleted' }]);
    expect(existsSync(join(world.folder, 'machine/live/opt/held'))).toBe(false);
  });

  it('is kept when the next release contains it again', async () => {
    await using world = await createWorld();
    holding(world);
    await world.release(1, [onePackage('app', '', three)]);
    await world.release(2, [onePackage('app', '', { files: { '/opt/a': '2' } })]);
    await world.release(3, [onePackage('app', '', three)]);
    expect(readStatus(world.agent, OFFLINE).packages).toMatchObject([{ status: 'healthy', code: null }]);
    expect(readOwned(world.agent.state, 'app')).toHaveLength(3);
  });
});
