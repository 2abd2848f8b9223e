import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { importMedium } from '../../agent/daemon/import-medium.ts';
import { verdict } from '../bundles/verdict.ts';
import {
  copyOfWorld,
  createWorldBefore,
  endState,
  goOn,
  SCENARIOS,
  secondMedium,
} from './crash-scenarios.ts';
import { stepsDone } from './folder-target.ts';
import { openFast, testAgent, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorldBefore();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Imports until the n-th boundary, and goes no further: what a stop or a failing disk does. Returns the boundaries. */
const importUntil = async (folder: string, medium: string, n: number): Promise<readonly string[]> => {
  using state = openFast(join(folder, 'state'));
  const points: string[] = [];
  const agent = testAgent(state, folder, {
    onJournal: (point) => {
      points.push(point);
      if (points.length === n) throw new FleetError('ABORTED', 'the test stops here');
    },
  });
  await importMedium(agent, medium, { prune: true }).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'ABORTED' });
  });
  return points;
};

// The same with real processes and SIGKILL: test/integration/agent/agent-crash.test.ts.
describe('an import that is interrupted', () => {
  it.each(SCENARIOS)(
    'H22: at any boundary of its journal ends as an undisturbed one, $name',
    async (scenario) => {
      const medium = await secondMedium(world, scenario.after);
      const calm = copyOfWorld(world, `${scenario.name}, calm`);
      const points = await importUntil(calm, medium, 0);
      expect(points).toEqual(expect.arrayContaining([...scenario.passes]));
      const undisturbed = await endState(calm);
      const steps = stepsDone(join(calm, 'machine')).length;
      for (const [index, point] of points.entries()) {
        const folder = copyOfWorld(world, `${scenario.name}, ${index}`);
        await importUntil(folder, medium, index + 1);
        expect(await verdict(() => goOn(folder, medium, index))).toBe('ACCEPT');
        expect(await endState(folder), point).toEqual(undisturbed);
        const again = point.endsWith(' done') ? 1 : 0;
        expect(stepsDone(join(folder, 'machine')).length, point).toBe(steps + again);
      }
    },
    300_000,
  );
});
