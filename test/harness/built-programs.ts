import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPrograms } from './build-programs.ts';
import { bundleAgent } from './bundle-agent.ts';
import { PROGRAMS_VARIABLE } from './program-file.ts';

/**
 * Fills `directory` with what `npm run build` and `npm run bundle:agent` make: exporter, scheduler and agent. Copied from
 * $FLEET_TEST_PROGRAMS where `npm test` has made it.
 */
export const copyBuiltPrograms = async (
  directory: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> => {
  const made = env[PROGRAMS_VARIABLE];
  if (made === undefined) {
    await buildPrograms(directory);
    await bundleAgent(join(directory, 'agent'));
    return;
  }
  for (const name of ['agent', 'exporter', 'scheduler'])
    await cp(join(made, name), join(directory, name), { recursive: true, verbatimSymlinks: true });
};
