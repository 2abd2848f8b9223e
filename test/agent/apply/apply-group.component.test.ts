import { expect, test } from 'vitest';
import { resume } from '../../../agent/apply/perform.ts';
import type { Step, Target } from '../../../agent/model/target.ts';
import { lastOperations, openOperation, readResults } from '../../../agent/store/journal/operations.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { FleetError } from '../../../bundles/errors.ts';
import { createWorld, onePackage } from '../world.ts';

const COUNT = 150;
const files = Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`/opt/f-${1000 + i}`, `${i}`]));

/** The folder target, with all its steps in one group and a way to look into each. */
const grouped = (
  whole: Target,
  execute: (step: Step, work: () => Promise<void>) => Promise<void>,
): Target => ({
  ...whole,
  plan: async (...args) => {
    const plan = await whole.plan(...args);
    return { ...plan, steps: plan.steps.map((step) => ({ ...step, group: 1 })) };
  },
  execute: async (step, desired, signal) => {
    await execute(step, async () => void (await whole.execute(step, desired, signal)));
    return { key: step.key, outcome: step.outcome, reason: step.reason, state: { seen: step.key } };
  },
});

test('steps of a group run concurrently, and their results are reported in plan order with what they found', async () => {
  await using world = await createWorld();
  let running = 0;
  let most = 0;
  const [whole] = world.agent.targets as [Target];
  const target = grouped(whole, async (_step, work) => {
    most = Math.max(most, ++running);
    // Later ones may well be done sooner.
    await new Promise((done) => setTimeout(done, Math.random() * 3));
    await work();
    running -= 1;
  });
  Object.assign(world.agent, { targets: [target] });
  await world.release(1, [onePackage('app', '', { files })]);
  expect(most).toBe(16);
  const [operation] = lastOperations(world.agent.state, 1);
  const keys = readResults(world.agent.state, operation ?? { id: 0, rollingBack: false }).map(
    ({ key }) => key,
  );
  expect(keys).toEqual(Object.keys(files).map((path) => `file:${path}`));
  const owned = readOwned(world.agent.state, 'app');
  expect(owned).toHaveLength(COUNT);
  expect(owned.every(({ key, state }) => state['seen'] === key && 'digest' in state)).toBe(true);
});

test('a failed step starts no further steps, and completed steps are reported and rolled back', async () => {
  await using world = await createWorld();
  const [whole] = world.agent.targets as [Target];
  let begun = 0;
  const target = grouped(whole, async (step, work) => {
    if (step.outcome !== 'deleted') begun += 1;
    if (step.key.endsWith('f-1020') && step.outcome !== 'deleted')
      throw new FleetError('APPLY_FAILED', 'this one cannot be written');
    await work();
  });
  Object.assign(world.agent, { targets: [target] });
  const { packages } = await world.release(1, [onePackage('app', '', { files })]);
  expect(packages).toMatchObject([{ outcome: 'failed', code: 'APPLY_FAILED', rolledBack: true }]);
  expect(begun).toBeLessThan(60);
  const [operation] = lastOperations(world.agent.state, 1);
  const done = readResults(world.agent.state, { id: operation?.id ?? 0, rollingBack: false });
  expect(done.filter(({ outcome }) => outcome === 'failed')).toHaveLength(1);
  expect(done.length).toBe(begun);
  expect(readOwned(world.agent.state, 'app')).toEqual([]);
});

test('a cluster outage in the middle fails no package: the group resumes from the journal', async () => {
  await using world = await createWorld();
  const [whole] = world.agent.targets as [Target];
  let away = true;
  const done: string[] = [];
  const target = grouped(whole, async (step, work) => {
    if (away && done.length >= 100) throw new FleetError('API_UNREACHABLE', 'it does not answer');
    await work();
    done.push(step.key);
  });
  Object.assign(world.agent, { targets: [target] });
  await expect(world.release(1, [onePackage('app', '', { files })])).rejects.toMatchObject({
    code: 'API_UNREACHABLE',
  });
  expect(openOperation(world.agent.state)).toMatchObject({ phase: 'apply', nextStep: 64 });
  away = false;
  await resume(world.agent);
  expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'healthy' });
  expect(done.length).toBeLessThan(COUNT + 64 + 16);
  expect(world.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
});

test('a cluster that is unreachable before the first step leaves the package for the next look', async () => {
  await using world = await createWorld();
  const [whole] = world.agent.targets as [Target];
  let away = true;
  const target: Target = {
    ...whole,
    plan: async (...args) => {
      if (away) throw new FleetError('API_UNREACHABLE', 'it does not answer');
      return whole.plan(...args);
    },
  };
  Object.assign(world.agent, { targets: [target] });
  const release = [onePackage('app', 'one')];
  const { packages } = await world.release(1, release);
  expect(packages).toMatchObject([{ outcome: 'failed', code: 'API_UNREACHABLE' }]);
  expect(openOperation(world.agent.state)).toBeUndefined();
  away = false;
  const { packages: again } = await world.release(2, release);
  expect(again).toMatchObject([{ outcome: 'created' }]);
});

test('a postponed step is tried again after the others, also after the agent was killed in between', async () => {
  const points = ['apply app: steps put off', 'apply app: step 150 done', 'apply app: applied'];
  for (const died of [undefined, ...points]) {
    await using world = await createWorld();
    const [whole] = world.agent.targets as [Target];
    const done: string[] = [];
    const target: Target = {
      ...grouped(whole, async (step, work) => {
        if (step.key.endsWith('f-1003') && done.length < COUNT - 1)
          throw new FleetError('WEBHOOK_UNREACHABLE', 'its webhook does not answer');
        await work();
        done.push(step.key);
      }),
      retryMs: 10_000,
    };
    const plan: Target['plan'] = async (...args) => {
      const { steps, owns } = await target.plan(...args);
      return { owns, steps: steps.map((step) => ({ ...step, mayWait: true })) };
    };
    let alive = died !== undefined;
    const onJournal = (point: string): void => {
      if (!alive || point !== died) return;
      alive = false;
      throw new FleetError('ABORTED', 'killed');
    };
    Object.assign(world.agent, { targets: [{ ...target, plan }], onJournal });
    const released = world.release(1, [onePackage('app', '', { files })]);
    if (died === undefined) expect((await released).packages).toMatchObject([{ outcome: 'created' }]);
    else {
      await expect(released, died).rejects.toMatchObject({ code: 'ABORTED' });
      await resume(world.agent);
    }
    expect(findPackage(world.agent.state, 'app'), died).toMatchObject({ status: 'healthy' });
    const [operation] = lastOperations(world.agent.state, 1);
    const results = readResults(world.agent.state, operation ?? { id: 0, rollingBack: false });
    expect(results.map(({ key }) => key).toSorted()).toEqual(
      Object.keys(files).map((path) => `file:${path}`),
    );
    // Killed before the order was stored, the agent repeats the group, and nothing has to wait any more.
    if (died !== 'apply app: step 150 done') expect(results.at(-1)?.key).toBe('file:/opt/f-1003');
    expect(readOwned(world.agent.state, 'app')).toHaveLength(COUNT);
  }
});

test('a first installation stays and is continued after WEBHOOK_UNREACHABLE, and is rolled back after another error', async () => {
  for (const code of ['WEBHOOK_UNREACHABLE', 'APPLY_FAILED'] as const) {
    await using world = await createWorld();
    const [whole] = world.agent.targets as [Target];
    let fails = true;
    const target: Target = {
      ...grouped(whole, async (step, work) => {
        if (fails && step.key.endsWith('f-1149') && step.outcome !== 'deleted')
          throw new FleetError(code, 'it is refused');
        await work();
      }),
      retryMs: 0,
    };
    Object.assign(world.agent, { targets: [target] });
    const stays = code === 'WEBHOOK_UNREACHABLE';
    const { packages } = await world.release(1, [onePackage('app', '', { files })]);
    expect(packages).toMatchObject([{ outcome: 'failed', code, rolledBack: !stays }]);
    expect(readOwned(world.agent.state, 'app')).toHaveLength(stays ? COUNT : 0);
    expect(openOperation(world.agent.state)).toBeUndefined();
    if (!stays) continue;
    fails = false;
    const { packages: again } = await world.release(2, [onePackage('app', '', { files })]);
    expect(again).toMatchObject([{ outcome: 'created' }]);
  }
});
