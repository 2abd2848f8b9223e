import { dirname, join } from 'node:path';
import { type Measured, measure } from '../measure.ts';
import type { Answer, Task } from './build-fleet.ts';

/** Runs a task in a process of its own. @throws FleetError IO when it fails */
export const runFleet = async (
  task: Task,
): Promise<{ readonly measured: Measured; readonly answer: Answer }> => {
  const { platform, environment, maps, makes, workers, edits } = task;
  const told = JSON.stringify({ platform, environment, maps, makes, workers, edits } satisfies Task);
  const argv = [process.execPath, join(import.meta.dirname, 'build-fleet.ts'), told];
  // The compile cache that the program has from its second start on (cli/keep-compiled.js).
  const measured = await measure(argv, { env: { NODE_COMPILE_CACHE: join(dirname(platform), 'code') } });
  return { measured, answer: JSON.parse(measured.stdout) as Answer };
};
