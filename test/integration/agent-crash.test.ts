import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  copyOfWorld,
  createWorldBefore,
  endState,
  goOn,
  SCENARIOS,
  secondMedium,
} from '../agent/crash-scenarios.ts';
import { stepsDone } from '../agent/folder-target.ts';
import type { World } from '../agent/world.ts';

const program = fileURLToPath(new URL('../agent/crash-import.ts', import.meta.url));
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
  // Compiling the same modules in each process would be most of the work.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(world.folder, 'compiled') };
  try {
    const { stdout } = await run(process.execPath, [program, folder, medium, String(n)], { env });
    return { signal: null, printed: stdout };
  } catch (error) {
    const { signal, stderr } = error as { signal: string | null; stderr: string };
    return { signal, printed: stderr };
  }
};

describe('an import whose process is killed with SIGKILL', () => {
  it.each(SCENARIOS)('at any boundary of its journal ends as an undisturbed one, $name', async (scenario) => {
    const medium = await secondMedium(world, scenario.after);
    const calm = copyOfWorld(world, `${scenario.name}, calm`);
    const { printed, signal } = await importApart(calm, medium, 0);
    expect(signal, printed).toBeNull();
    const points = printed.trimEnd().split('\n');
    expect(points).toEqual(expect.arrayContaining([...scenario.passes]));
    const undisturbed = await endState(calm);
    const steps = stepsDone(join(calm, 'machine')).length;
    const waiting = points.map((point, index) => ({ point, n: index + 1 }));
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { point, n } = next;
        const folder = copyOfWorld(world, `${scenario.name}, ${n}`);
        const died = await importApart(folder, medium, n);
        expect(died.signal, `${point}: ${died.printed}`).toBe('SIGKILL');
        await goOn(folder, medium, n);
        expect(await endState(folder), point).toEqual(undisturbed);
        // A step that was done and not yet written down is done again, and no other.
        const again = point.endsWith(' done') ? 1 : 0;
        expect(stepsDone(join(folder, 'machine')).length, point).toBe(steps + again);
      }
    };
    await Promise.all([worker(), worker()]);
  });
});
