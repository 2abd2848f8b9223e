import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planNext } from '../../../agent/apply/plan-next.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import type { Target } from '../../../agent/model/target.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

/** As on a cluster: objects are removed once the package is healthy. A package whose content begins with 'slow' is waited for until a stop. */
const removesLate = (world: World, stop: () => void): Target => {
  const target = folderTarget(join(world.folder, 'machine'));
  return {
    ...target,
    plan: async (...given) => {
      const { steps, owns } = await target.plan(...given);
      return {
        owns,
        steps: steps.map((step) => (step.kind === 'remove' ? { ...step, removal: true } : step)),
      };
    },
    settle: async (desired, signal) => {
      const slow = [...desired.files.values()].some((bytes) => bytes.toString().startsWith('slow'));
      if (!slow) return target.settle(desired, signal);
      stop();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return [{ name: 'answers', outcome: 'failed', message: 'not yet' }];
    },
  };
};

const named = (names: string, count: number, content = 'x'): TestPackage => ({
  id: 'app',
  files: Object.fromEntries(Array.from({ length: count }, (_, at) => [`/opt/${names}-${at}`, content])),
});

const other = onePackage('other', 'one');
const live = ({ folder }: World) => liveFiles(join(folder, 'machine'));
const filesOfApp = (world: World): readonly string[] =>
  Object.keys(live(world)).filter((path) => path !== '/opt/other');
const only = (...packages: readonly TestPackage[]) =>
  Object.assign({}, ...packages.map(({ files }) => files));

/** 30 objects ran, 30 of other names exist beside them, and the agent was stopped before it removed the first ones. */
const interrupted = async (): Promise<World> => {
  const world = await createWorld();
  await world.release(1, [named('one', 30), other]);
  const stopped = new AbortController();
  const target = removesLate(world, () => setImmediate(() => stopped.abort()));
  Object.assign(world.agent, { targets: [target] });
  const { signal } = world.agent;
  Object.assign(world.agent, { signal: stopped.signal });
  await expect(world.release(2, [named('two', 30, 'slow'), other])).rejects.toMatchObject({
    code: 'ABORTED',
  });
  Object.assign(world.agent, { signal });
  expect(filesOfApp(world)).toHaveLength(60);
  expect(openOperation(world.agent.state)).toMatchObject({ assignment: 'app', phase: 'settle' });
  return world;
};

describe('an update that follows one which was interrupted before its removals', () => {
  it('counts objects that the interrupted one has created', async () => {
    await using world = await interrupted();
    expect(await world.release(3, [named('two', 30), other])).toMatchObject({
      packages: [{ assignment: 'app', outcome: 'configured' }],
    });
    expect(live(world)).toEqual({ ...named('two', 30).files, '/opt/other': 'one' });
  });

  it('does not count objects of a try that never became healthy as removals', async () => {
    await using world = await interrupted();
    expect(await world.release(3, [named('three', 30), other])).toMatchObject({
      packages: [{ assignment: 'app', outcome: 'configured' }],
    });
    expect(live(world)).toEqual({ ...named('three', 30).files, '/opt/other': 'one' });
  });

  it('waits for a confirmation when it leaves less than the package that ran', async () => {
    await using world = await interrupted();
    const message =
      'the release removes 58 objects of the package and creates 0; of 30 of its application 2 would be left; if it is meant: fleet-agent prune';
    expect(await world.release(3, [named('two', 2), other])).toMatchObject({
      packages: [{ assignment: 'app', code: 'PRUNE_BUDGET', message }],
    });
    expect(await planNext(world.agent)).toMatchObject([{ waits: { code: 'PRUNE_BUDGET', message } }]);
    expect(filesOfApp(world)).toHaveLength(60);
  });

  it('waits for a confirmation when its new objects were those of another package', async () => {
    await using world = await createWorld();
    const lent = { ...named('lent', 30), id: 'lent' };
    await world.release(1, [named('one', 30), lent, other]);
    const cut = {
      ...named('one', 30),
      checks: [{ type: 'exec', name: 'up', argv: ['false'], timeoutSeconds: 1 }],
    };
    await world.release(2, [cut as TestPackage, lent, other]);
    expect(await world.release(3, [named('lent', 30), other])).toMatchObject({
      packages: [{ assignment: 'app', code: 'PRUNE_BUDGET' }, { assignment: 'lent' }],
    });
    expect(Object.keys(live(world))).toHaveLength(61);
  });
});

it('an update counts files that a failed one left on a host whose rollback failed as well', async () => {
  await using world = await createWorld();
  const mended = join(world.folder, 'machine', 'mended');
  const with_ = (one: TestPackage, content: string): TestPackage => ({
    ...one,
    files: { '/opt/a-config': content, ...one.files },
  });
  const refused = { '/opt/zzz': 'refused' };
  await world.release(1, [onePackage('first', 'x'), other]);
  writeFileSync(mended, '');
  await world.release(2, [with_(named('one', 30), 'refuse: one'), other]);
  rmSync(mended);
  const broken = with_({ id: 'app', files: only(named('two', 30), { id: '', files: refused }) }, 'two');
  expect(await world.release(3, [broken, other])).toMatchObject({
    packages: [{ assignment: 'app', code: 'APPLY_FAILED' }],
  });
  expect(filesOfApp(world).length).toBeGreaterThan(60);
  expect(await world.release(4, [with_(named('two', 30), 'two'), other])).toMatchObject({
    packages: [{ assignment: 'app', outcome: 'configured' }],
  });
  expect(live(world)).toEqual({ ...named('two', 30).files, '/opt/a-config': 'two', '/opt/other': 'one' });
});

it('an interrupted update that nothing follows is completed without a question', async () => {
  await using world = await interrupted();
  const target = folderTarget(join(world.folder, 'machine'));
  Object.assign(world.agent, { targets: [target] });
  await lookAround(world.agent);
  expect(filesOfApp(world)).toHaveLength(30);
});
