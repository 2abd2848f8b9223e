import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createWorldBefore, SCENARIOS, secondMedium } from '../../agent/crash-scenarios.ts';
import { oneOfEachSort } from '../../agent/boundaries.ts';
import { cutEverywhere } from '../../agent/cut-everywhere.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import { type RegistryServer, startRegistryServer } from '../../agent/registry-server.ts';
import { takeUp } from '../../agent/take-up.ts';
import { openFast, POLICY, testAgent, type World } from '../../agent/world.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const program = testProgramFile('test/agent/crash-pull.ts');
const run = promisify(execFile);

let world: World;
let server: RegistryServer;
beforeAll(async () => {
  world = await createWorldBefore();
  server = await startRegistryServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Takes up what is new in a process of its own; with n, killed at the n-th boundary. */
const takeUpApart = async (
  folder: string,
  n: number,
): Promise<{ readonly signal: string | null; readonly printed: string }> => {
  try {
    const { stdout } = await run(process.execPath, [program, folder, server.address, String(n)]);
    return { signal: null, printed: stdout };
  } catch (error) {
    const { signal, stderr } = error as { signal: string | null; stderr: string };
    return { signal, printed: stderr };
  }
};

/** The next start of the daemon. */
const goOn = async (folder: string): Promise<void> => {
  using state = openFast(join(folder, 'state'));
  await using registry = server.open();
  await takeUp(
    testAgent(state, folder, { policy: { ...POLICY, pruneBudget: 5, onDrift: 'report' } }),
    registry,
  );
};

describe('an agent that is killed with SIGKILL while it accepts a release from a registry', () => {
  // The journal is that of an import, which agent-crash.test.ts kills in both.
  it.each(LONG ? SCENARIOS : SCENARIOS.slice(0, 1))(
    'H22: at any boundary of its journal ends as an undisturbed one, $name',
    async (scenario) => {
      server.publish(await secondMedium(world, scenario.after));
      await cutEverywhere(world, scenario, {
        apart: takeUpApart,
        goOn,
        choose: LONG ? (all) => all : (all) => oneOfEachSort(all).filter((_, index) => isTried(index)),
      });
    },
    // Dozens of programs one after the other.
    900_000,
  );
});
