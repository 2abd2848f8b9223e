import { expect, test } from 'vitest';
import type { Agent } from '../../../agent/store/agent.ts';
import { resume } from '../../../agent/apply/perform.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import type { Target } from '../../../agent/model/target.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { nextAttempt } from '../../../agent/store/applied/attempts.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { FleetError } from '../../../bundles/errors.ts';
import { createWorld, NOW, onePackage, testEdge } from '../world.ts';
import { LONG } from '../../harness/run/long.ts';

const OFFLINE = { registry: '', hub: '', windows: [] };

test('a shutdown in the middle of a step does not fail the package: the step runs after the next start', async () => {
  await using world = await createWorld();
  const [whole] = world.agent.targets as [Target];
  let down = true;
  const target: Target = {
    ...whole,
    execute: async (step, desired, signal) => {
      if (down) throw new FleetError('ABORTED', 'the host is going down');
      return whole.execute(step, desired, signal);
    },
  };
  const agent = Object.assign(world.agent, { targets: [target] });
  await expect(world.release(1, [onePackage('app', 'one')])).rejects.toMatchObject({ code: 'ABORTED' });
  expect(openOperation(agent.state)).toMatchObject({ assignment: 'app', nextStep: 0 });
  down = false;
  await resume(agent);
  expect(findPackage(agent.state, 'app')).toMatchObject({ status: 'healthy' });
  expect(world.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
});

test.each([
  ['a full disk', 'DISK_FULL'],
  ['a right that is not granted yet', 'API_DENIED'],
  ['a read-only file system', 'PERMISSION'],
  ['an admission webhook that is down', 'WEBHOOK_UNREACHABLE'],
] as const)(
  'a step is retried after doubling pauses and reported once, because the package did not cause %s',
  async (_, code) => {
    await using world = await createWorld();
    const [whole] = world.agent.targets as [Target];
    let inTheWay = true;
    let tries = 0;
    const target: Target = {
      ...whole,
      execute: async (step, desired, signal) => {
        if (inTheWay && step.outcome !== 'deleted') {
          tries += 1;
          throw new FleetError(code, 'not yet');
        }
        return whole.execute(step, desired, signal);
      },
    };
    const agent = Object.assign(world.agent, { targets: [target] });
    const { packages } = await world.release(1, [onePackage('app', 'one')]);
    expect(packages).toMatchObject([{ outcome: 'failed', code }]);
    const told = world.events().length;
    const at = (seconds: number): Agent => ({
      ...agent,
      edge: testEdge(new Date(NOW.getTime() + seconds * 1000)),
    });
    const before = tries;
    // Pauses of 5, 10 and 20 seconds: what looks in between gets the earlier failure, and tries nothing.
    for (const seconds of [1, 4, 5, 6, 14, 15, 34])
      expect(await reconcile(at(seconds))).toMatchObject([{ outcome: 'failed', code }]);
    expect(tries - before).toBe(2);
    expect(world.events().slice(told)).toEqual([]);
    expect(readStatus(at(34), OFFLINE).packages).toMatchObject([
      { status: 'failed', code, message: expect.stringContaining('; tried again at 2026-11-21T08:00:35Z') },
    ]);
    inTheWay = false;
    expect(await reconcile(at(35))).toMatchObject([{ assignment: 'app', outcome: 'created' }]);
    expect(nextAttempt(agent.state, NOW)).toBeUndefined();
  },
);

test('a failed step is never counted as done, for a power cut at any moment', async () => {
  for (const group of [undefined, 1]) {
    for (let stopAt = 1, stopped = true; stopped; stopAt += LONG ? 1 : 3) {
      await using world = await createWorld();
      const [whole] = world.agent.targets as [Target];
      const target: Target = {
        ...whole,
        plan: async (...args) => {
          const plan = await whole.plan(...args);
          return {
            ...plan,
            steps: plan.steps.map((step) => ({ ...step, ...(group !== undefined && { group }) })),
          };
        },
        execute: async (step, desired, signal) => {
          if (step.outcome !== 'deleted') throw new FleetError('APPLY_FAILED', 'this one cannot be written');
          return whole.execute(step, desired, signal);
        },
      };
      let points = 0;
      stopped = false;
      const onJournal = (point: string): void => {
        if (!point.startsWith('apply app') || ++points !== stopAt) return;
        stopped = true;
        throw new FleetError('ABORTED', `the power goes after ${point}`);
      };
      const agent = Object.assign(world.agent, { targets: [target], onJournal });
      await world.release(1, [onePackage('app', 'one')]).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'ABORTED' });
      });
      await resume(agent);
      await reconcile(agent);
      expect(findPackage(agent.state, 'app'), `stopped at ${stopAt}`).toMatchObject({
        status: 'failed',
        code: 'APPLY_FAILED',
      });
    }
  }
});
