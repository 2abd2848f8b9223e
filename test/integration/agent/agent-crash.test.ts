import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createWorldBefore, goOn, SCENARIOS, secondMedium } from '../../agent/crash-scenarios.ts';
import { oneOfEachSort } from '../../agent/boundaries.ts';
import { cutEverywhere } from '../../agent/cut-everywhere.ts';
import type { World } from '../../agent/world.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const program = testProgramFile('test/agent/crash-import.ts');
const run = promisify(execFile);

let world: World;
beforeAll(async () => {
  world = await createWorldBefore();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Imports in a process of its own; with n, killed at the n-th boundary. Says by which signal, or what it printed. */
const importApart = async (
  folder: string,
  medium: string,
  n: number,
): Promise<{ signal: string | null; printed: string }> => {
  try {
    const { stdout } = await run(process.execPath, [program, folder, medium, String(n)]);
    return { signal: null, printed: stdout };
  } catch (error) {
    const { signal, stderr } = error as { signal: string | null; stderr: string };
    return { signal, printed: stderr };
  }
};

/** Whether the boundary is of a sort that an earlier scenario does not have, such as those of a removal. */
const isOwn = (scenario: (typeof SCENARIOS)[number], point: string): boolean =>
  scenario === SCENARIOS[0] || point.startsWith('remove ');

describe('an import whose process is killed with SIGKILL', () => {
  it.each(SCENARIOS)(
    'H22: at any boundary of its journal ends as an undisturbed one, $name',
    async (scenario) => {
      const medium = await secondMedium(world, scenario.after);
      await cutEverywhere(world, scenario, {
        apart: (folder, n) => importApart(folder, medium, n),
        goOn: (folder, n) => goOn(folder, medium, n),
        // interrupted-import.integration.test.ts stops at every boundary in its own process.
        choose: LONG
          ? (all) => all
          : (all) =>
              oneOfEachSort(all).filter(({ point }, index) => isOwn(scenario, point) && isTried(index + 1)),
      });
    },
    // Dozens of programs one after the other.
    900_000,
  );
});
