import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckResult, Target } from '../../../agent/model/target.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { lastOperations, readResults } from '../../../agent/store/journal/operations.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const machine = (world: World) => join(world.folder, 'machine');

/**
 * A target on which the version `two` is never healthy, and somebody deletes the file of any other while it is waited for.
 * @param times how often
 */
const deleting = (world: World, times: number) => {
  const folder = folderTarget(machine(world));
  const isThere = () => '/opt/app' in liveFiles(machine(world));
  let left = times;
  const hooks: string[] = [];
  const target: Target = {
    ...folder,
    settle: async (desired): Promise<readonly CheckResult[]> => {
      const isTwo = [...desired.files.values()].some((bytes) => bytes.toString() === 'two');
      if (!isTwo && left > 0) {
        left -= 1;
        rmSync(join(machine(world), 'live/opt/app'));
      }
      const message = isThere() ? 'it answers' : 'it is not there any more';
      return [{ name: 'app', outcome: !isTwo && isThere() ? 'passed' : 'failed', message }];
    },
    gone: async () => (isThere() ? [] : ['file:/opt/app']),
    afterFailure: async () => {
      hooks.push('after failure');
      return [{ key: 'hook', outcome: 'created', reason: 'it runs because the package failed' }];
    },
    endFailure: async () => {
      hooks.push('end of failure');
      return [{ name: 'hook', outcome: 'passed', message: 'it stays' }];
    },
  };
  Object.assign(world.agent, { targets: [target] });
  return hooks;
};

const failing = async (world: World, times: number) => {
  await world.release(1, [onePackage('app', 'one')]);
  const hooks = deleting(world, times);
  const { packages } = await world.release(2, [onePackage('app', 'two')]);
  return { packages, hooks };
};

describe('an object that somebody deletes while the way back waits for it', () => {
  it('is applied again, so that the version before runs again', async () => {
    await using world = await createWorld();
    const { packages, hooks } = await failing(world, 1);
    expect(packages).toMatchObject([{ outcome: 'failed', code: 'CHECK_FAILED', rolledBack: true }]);
    expect(liveFiles(machine(world))).toEqual({ '/opt/app': 'one' });
    expect(findPackage(world.agent.state, 'app')).toMatchObject({ status: 'failed' });
    const [operation] = lastOperations(world.agent.state, 1);
    expect(operation).toMatchObject({ outcome: 'rolled-back', rollingBack: true });
    expect(hooks).toEqual(['after failure', 'end of failure']);
    expect(operation && readResults(world.agent.state, operation).map(({ key }) => key)).toEqual([
      'hook',
      'hook',
      'file:/opt/app',
      'again',
      'file:/opt/app',
    ]);
  });

  it('is given up after a few times, and the package is broken', async () => {
    await using world = await createWorld();
    const { packages } = await failing(world, Number.POSITIVE_INFINITY);
    expect(packages).toMatchObject([{ outcome: 'failed', rolledBack: false }]);
    expect(findPackage(world.agent.state, 'app')).toMatchObject({
      status: 'broken',
      message: expect.stringMatching(/it is not there any more; deleted 4 times/),
    });
  });
});
