import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confirmPrune } from '../../../agent/apply/operator/confirm-prune.ts';
import { holdSite, releaseSite } from '../../../agent/apply/operator/hold-site.ts';
import { retryPackages } from '../../../agent/apply/operator/retry-packages.ts';
import { planNext } from '../../../agent/apply/plan-next.ts';
import type { Target } from '../../../agent/model/target.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, POLICY, type World } from '../world.ts';

/** Carries out the command that a message names, as its command of the command line does. */
const typed = async (agent: Agent, message: string): Promise<string> => {
  const [, verb = '', name] = /fleet-agent (\w+)(?: ([\w-]+))?$/u.exec(message) ?? [];
  expect(existsSync(join(import.meta.dirname, `../../../agent/commands/${verb}.ts`))).toBe(true);
  switch (verb) {
    case 'retry':
      await retryPackages(agent, name === undefined ? [] : [name]);
      break;
    case 'prune':
      await confirmPrune(agent);
      break;
    case 'release':
      releaseSite(agent);
      await lookAround(agent);
      break;
    default:
      throw new Error(`the message names no command: ${message}`);
  }
  return verb;
};

const mend = ({ folder }: World) => writeFileSync(join(folder, 'machine', 'mended'), '');
const live = ({ folder }: World) => liveFiles(join(folder, 'machine'));
const files = (count: number): TestPackage => ({
  id: 'app',
  files: Object.fromEntries(Array.from({ length: count }, (_, at) => [`/opt/app/${at}`, 'x'])),
});

/** The message of the package that waits. */
const messageOf = ({ agent }: World, name: string): string => {
  const row = readPackages(agent.state).find(({ assignment }) => assignment === name);
  return row?.message ?? '';
};

/** Objects under /opt/held are deleted only when the test lets them go, as on a cluster. */
const withFinalizer = (world: World): { readonly letGo: () => void } => {
  const machine = folderTarget(join(world.folder, 'machine'));
  let held = true;
  const target: Target = {
    ...machine,
    plan: async (...args) => {
      const plan = await machine.plan(...args);
      return { ...plan, steps: plan.steps.map((step, group) => ({ ...step, group })) };
    },
    execute: async (step, desired, signal) => {
      if (!held || step.outcome !== 'deleted') return machine.execute(step, desired, signal);
      const message = `${step.key} is being deleted since 2026-11-21T08:00:00Z: finalizers hold it: example.org/stuck`;
      const leaving = { since: '2026-11-21T08:00:00Z', message };
      return { key: step.key, outcome: 'skipped', reason: message, state: { leaving } };
    },
  };
  Object.assign(world.agent, { targets: [target], policy: { ...POLICY, pruneBudget: 5 } });
  return { letGo: () => void (held = false) };
};

const one = (id: string, content: string, more: Partial<TestPackage> = {}) => onePackage(id, content, more);

type Case = {
  readonly title: string;
  /** Makes package `app` wait. @returns how the operator ends what the message names, before the command */
  readonly make: (world: World) => Promise<(() => void) | undefined>;
  readonly verb: string;
  readonly after: Readonly<Record<string, string>>;
};

const CASES: readonly Case[] = [
  {
    title: 'an update during a hold',
    make: async (world) => {
      await world.release(1, [one('app', 'one')]);
      await holdSite(world.agent, '8h', 'batch 17 is running');
      await world.release(2, [one('app', 'two')]);
      return undefined;
    },
    verb: 'release',
    after: { '/opt/app': 'two' },
  },
  {
    title: 'a removal during a hold',
    make: async (world) => {
      await world.release(1, [one('app', 'one'), one('other', 'one')]);
      await holdSite(world.agent, undefined, 'batch 17 is running');
      await world.release(2, [one('other', 'one')]);
      return undefined;
    },
    verb: 'release',
    after: { '/opt/other': 'one' },
  },
  {
    title: 'a package whose dependency failed',
    make: async (world) => {
      await world.release(1, [one('app', 'one', { dependsOn: ['base'] }), one('base', 'refuse')]);
      return () => mend(world);
    },
    verb: 'retry',
    after: { '/opt/app': 'one', '/opt/base': 'refuse' },
  },
  {
    title: 'a package behind a critical one that failed',
    make: async (world) => {
      await world.release(1, [one('app', 'one'), one('base', 'refuse', { critical: true })]);
      return () => mend(world);
    },
    verb: 'retry',
    after: { '/opt/app': 'one', '/opt/base': 'refuse' },
  },
  {
    title: 'a removal that a failed package needs',
    make: async (world) => {
      await world.release(1, [one('app', 'one'), one('user', 'one', { dependsOn: ['app'] })]);
      await world.release(2, [one('user', 'refuse')]);
      return () => mend(world);
    },
    verb: 'retry',
    after: { '/opt/user': 'refuse' },
  },
  {
    title: 'removals of more packages than the budget',
    make: async (world) => {
      const names = ['app', 'b', 'c'];
      await world.release(1, [...names.map((name) => one(name, 'one')), one('stays', 'one')]);
      await world.release(2, [one('stays', 'one')]);
      return undefined;
    },
    verb: 'prune',
    after: { '/opt/stays': 'one' },
  },
  {
    title: 'the removal of all packages',
    make: async (world) => {
      await world.release(1, [one('app', 'one')]);
      await world.release(2, []);
      return undefined;
    },
    verb: 'prune',
    after: {},
  },
  {
    title: 'a removal of many files',
    make: async (world) => {
      await world.release(1, [files(30), one('stays', 'one')]);
      await world.release(2, [one('stays', 'one')]);
      return undefined;
    },
    verb: 'prune',
    after: { '/opt/stays': 'one' },
  },
  {
    title: 'an update that leaves less than a tenth',
    make: async (world) => {
      await world.release(1, [files(31)]);
      await world.release(2, [files(1)]);
      return undefined;
    },
    verb: 'prune',
    after: { '/opt/app/0': 'x' },
  },
  {
    title: 'a removal that a finalizer holds',
    make: async (world) => {
      const { letGo } = withFinalizer(world);
      await world.release(1, [one('app', 'one'), one('stays', 'one')]);
      await world.release(2, [one('stays', 'one')]);
      return letGo;
    },
    verb: 'retry',
    after: { '/opt/stays': 'one' },
  },
];

describe('a waiting package names the command that continues it, and the command does', () => {
  it.each(CASES)('$title', async ({ make, verb, after }) => {
    await using world = await createWorld();
    const end = await make(world);
    const message = messageOf(world, 'app');
    // Without its cause being ended, looking again says the same.
    await lookAround(world.agent);
    expect(messageOf(world, 'app')).toBe(message);
    end?.();
    expect(await typed(world.agent, message)).toBe(verb);
    expect(live(world)).toEqual(after);
    expect(readPackages(world.agent.state).filter(({ status }) => status !== 'healthy')).toEqual([]);
  });

  it('a failed package names "retry" in the next release', async () => {
    await using world = await createWorld();
    await world.release(1, [one('app', 'one')]);
    await world.release(2, [one('app', 'refuse')]);
    await world.release(3, [one('app', 'one')]);
    const { packages } = await world.release(4, [one('app', 'refuse')]);
    expect(packages[0]?.message).toContain('to try it now: fleet-agent retry app; it failed because:');
    mend(world);
    await retryPackages(world.agent, ['app']);
    expect(live(world)).toEqual({ '/opt/app': 'refuse' });
  });

  it('an incomplete removal stays during a hold, and is completed by "retry" after it', async () => {
    await using world = await createWorld();
    const { letGo } = withFinalizer(world);
    const stays = one('stays', 'one');
    await world.release(1, [{ id: 'app', files: { '/opt/a': '1', '/opt/b': '1' } }, stays]);
    await world.release(2, [stays]);
    const before = messageOf(world, 'app');
    await holdSite(world.agent, undefined, 'batch 17');
    const { packages } = await lookAround(world.agent);
    expect(packages).toMatchObject([{ assignment: 'app', outcome: 'skipped', code: 'REMOVAL_WAITS' }]);
    expect(packages[0]?.message).toBe(
      `${before}; held by technician: batch 17; to end the hold: fleet-agent release`,
    );
    expect(messageOf(world, 'app')).toBe(before);
    letGo();
    await typed(world.agent, packages[0]?.message ?? '');
    await typed(world.agent, before);
    expect(live(world)).toEqual({ '/opt/stays': 'one' });
  });

  it('a removal listed in a plan can be confirmed during a hold, and is not asked for again', async () => {
    await using world = await createWorld();
    await world.release(1, [files(31)]);
    await holdSite(world.agent, undefined, 'batch 17');
    await world.release(2, [files(1)]);
    const [planned] = await planNext(world.agent);
    expect(await typed(world.agent, planned?.waits?.message ?? '')).toBe('prune');
    expect(Object.keys(live(world))).toHaveLength(31);
    expect(world.events().at(-1)).toMatchObject({ type: 'operator', detail: { action: 'prune' } });
    await typed(world.agent, messageOf(world, 'app'));
    expect(Object.keys(live(world))).toHaveLength(1);
  });

  it('a release that waits for a window is applied by "retry"', async () => {
    await using world = await createWorld();
    await world.release(1, [one('app', 'one')]);
    await holdSite(world.agent, undefined, 'so that the release waits');
    await world.release(2, [one('app', 'two')]);
    releaseSite(world.agent);
    await lookAround(world.agent, { mayBegin: false });
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    await retryPackages(world.agent);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
  });
});
