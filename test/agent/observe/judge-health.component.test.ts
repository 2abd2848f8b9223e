import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Agent } from '../../../agent/store/agent.ts';
import type { CheckResult, Target } from '../../../agent/model/target.ts';
import { healthWaits } from '../../../agent/daemon/health-waits.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { findAttempt, HEALTH, nextAttempt } from '../../../agent/store/applied/attempts.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, NOW, onePackage, testEdge, type World } from '../world.ts';

const live = ({ folder }: World) => liveFiles(join(folder, 'machine'));
const edit = ({ folder }: World, name: string) =>
  writeFileSync(join(folder, 'machine/live/opt', name), 'edited');

type Waited = { readonly assignment: string; readonly end: (checks: readonly CheckResult[]) => void };

/** A daemon's looks at a machine where packages that were corrected say nothing of their health until the test does. */
const daemonOf = (world: World) => {
  const machine = folderTarget(join(world.folder, 'machine'));
  const waited: Waited[] = [];
  let patient = false;
  const target: Target = {
    ...machine,
    leavesOpen: () => true,
    passesChecks: async (desired, signal) =>
      (await machine.settle(desired, signal)).every(({ outcome }) => outcome === 'passed'),
    settle: (desired, signal) =>
      patient
        ? new Promise((end, stop) => {
            waited.push({ assignment: desired.assignment, end });
            signal.addEventListener('abort', () => stop(new Error('stopped')), { once: true });
          })
        : machine.settle(desired, signal),
  };
  const agent: Agent = Object.assign(world.agent, { targets: [target] });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  let verdicts = 0;
  const waits = healthWaits(
    agent,
    (work) => work(),
    log,
    () => verdicts++,
  );
  return {
    waited,
    look: () => {
      patient = true;
      return lookAround(agent, { waits });
    },
    /** With checks that answer at once, as the health wait of an apply. */
    release: (version: number, packages: Parameters<World['release']>[1]) => {
      patient = false;
      return world.release(version, packages);
    },
    waiting: async (names: readonly string[]) =>
      expect.poll(() => waited.map(({ assignment }) => assignment), { interval: 1 }).toEqual(names),
    verdict: async (count: number) => expect.poll(() => verdicts, { interval: 1 }).toBe(count),
    /** Number of verdicts once all waits have ended. */
    verdicts: async () => {
      await waits[Symbol.asyncDispose]();
      return verdicts;
    },
  };
};

const PASSED: CheckResult = { name: 'answers', outcome: 'passed', message: 'fine' };
const FAILED: CheckResult = { name: 'answers', outcome: 'failed', message: 'not fine' };

describe('the health wait of a corrected package', () => {
  it('delays no look and no correction of another package', async () => {
    await using world = await createWorld();
    const it = daemonOf(world);
    await it.release(1, [onePackage('app', 'one'), onePackage('other', 'one')]);
    edit(world, 'app');
    await it.look();
    await it.waiting(['app']);
    expect(openOperation(world.agent.state)).toBeUndefined();
    edit(world, 'other');
    await it.look();
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/other': 'one' });
    // One wait a package, however many looks there are meanwhile.
    await it.waiting(['app', 'other']);
    it.waited[0]?.end([FAILED]);
    await it.verdict(1);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken', code: 'CHECK_FAILED' });
    expect(findPackage(world.agent.state, 'other')).toMatchObject({ status: 'healthy' });
    it.waited[1]?.end([PASSED]);
    await it.verdict(2);
    expect(findAttempt(world.agent.state, 'other', HEALTH)).toBeUndefined();
  });

  it('is dropped when a release applies the package meanwhile', async () => {
    await using world = await createWorld();
    const it = daemonOf(world);
    await it.release(1, [onePackage('app', 'one')]);
    edit(world, 'app');
    await it.look();
    await it.waiting(['app']);
    expect(await it.release(2, [onePackage('app', 'two')])).toMatchObject({
      packages: [{ assignment: 'app', outcome: 'configured' }],
    });
    const told = world.events().length;
    it.waited[0]?.end([FAILED]);
    await it.verdict(1);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'healthy' });
    expect(world.events()).toHaveLength(told);
  });
});

describe('the checks of a healthy package', () => {
  const checks = [{ type: 'exec', name: 'answers', argv: ['mended'], timeoutSeconds: 1 }] as const;

  it('cause no further look when they pass', async () => {
    await using world = await createWorld();
    writeFileSync(join(world.folder, 'machine/mended'), '');
    const it = daemonOf(world);
    await it.release(1, [onePackage('app', 'one', { checks })]);
    for (let looks = 0; looks < 3; looks++) await it.look();
    expect(await it.verdicts()).toBe(0);
  });

  it('make the package broken when they fail', async () => {
    await using world = await createWorld();
    writeFileSync(join(world.folder, 'machine/mended'), '');
    const it = daemonOf(world);
    await it.release(1, [onePackage('app', 'one', { checks })]);
    rmSync(join(world.folder, 'machine/mended'));
    await it.look();
    await it.waiting(['app']);
    it.waited[0]?.end([FAILED]);
    await it.verdict(1);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken' });
  });

  it('change nothing when they fail at first and pass within their timeout', async () => {
    await using world = await createWorld();
    writeFileSync(join(world.folder, 'machine/mended'), '');
    const it = daemonOf(world);
    await it.release(1, [onePackage('app', 'one', { checks })]);
    rmSync(join(world.folder, 'machine/mended'));
    await it.look();
    await it.waiting(['app']);
    it.waited[0]?.end([...(findPackage(world.agent.state, 'app')?.checks ?? [])]);
    expect(await it.verdicts()).toBe(0);
  });
});

describe('a package that does not become healthy', () => {
  const checks = [{ type: 'exec', name: 'answers', argv: ['mended'], timeoutSeconds: 1 }] as const;
  const mended = ({ folder }: World) => join(folder, 'machine/mended');

  it('is judged after 5 s, 10 s and twice as long each time up to ten minutes, also after a restart of the agent', async () => {
    await using world = await createWorld();
    writeFileSync(mended(world), '');
    await world.release(1, [onePackage('app', 'one', { checks })]);
    rmSync(mended(world));
    edit(world, 'app');
    const at = (seconds: number): Agent => ({
      ...world.agent,
      edge: testEdge(new Date(NOW.getTime() + seconds * 1000)),
    });
    const pauses: number[] = [];
    let now = 0;
    for (let n = 0; n < 9; n++) {
      await lookAround(at(now));
      const next = nextAttempt(world.agent.state, at(now).edge.now()) as Date;
      const pause = (next.getTime() - NOW.getTime()) / 1000 - now;
      pauses.push(pause);
      await lookAround(at(now + pause - 1));
      expect(findAttempt(world.agent.state, 'app', HEALTH)?.tries).toBe(n + 1);
      now += pause;
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600]);
    // A clock that was set back by years does not make it wait for years.
    writeFileSync(mended(world), '');
    await lookAround(at(-86_400 * 3650));
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'healthy' });
    expect(findAttempt(world.agent.state, 'app', HEALTH)).toBeUndefined();
  });

  it('still has its drift corrected at once', async () => {
    await using world = await createWorld();
    writeFileSync(mended(world), '');
    await world.release(1, [onePackage('app', 'one', { checks })]);
    rmSync(mended(world));
    edit(world, 'app');
    await lookAround(world.agent);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'broken' });
    edit(world, 'app');
    await lookAround(world.agent);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });
});
