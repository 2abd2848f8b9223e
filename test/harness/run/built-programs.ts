import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPrograms } from './build-programs.ts';
import { bundleAgent } from './bundle-agent.ts';
import { PROGRAMS_VARIABLE } from './program-file.ts';

const AS_MADE = { recursive: true, verbatimSymlinks: true };

/**
 * Fills `directory` with what `npm run build` and `npm run bundle:agent` make: exporter, scheduler and agent. Copied from
 * $FLEET_TEST_PROGRAMS where `npm test` has made it.
 */
export const copyBuiltPrograms = async (
  directory: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> => {
  const made = env[PROGRAMS_VARIABLE];
  if (made === undefined) await buildPrograms(directory);
  else
    for (const name of ['exporter', 'scheduler']) await cp(join(made, name), join(directory, name), AS_MADE);
  await copyBuiltAgent(join(directory, 'agent'), env);
};

/** As copyBuiltPrograms, the agent alone. @returns the path of fleet-agent.mjs */
export const copyBuiltAgent = async (
  directory: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> => {
  const made = env[PROGRAMS_VARIABLE];
  if (made === undefined) return bundleAgent(directory);
  await cp(join(made, 'agent'), directory, AS_MADE);
  return join(directory, 'fleet-agent.mjs');
};

/** The folder of the hub's page: in $FLEET_TEST_PROGRAMS where `npm test` has built it, otherwise `directory`, where it is built now. */
export const builtPage = async (directory: string, env: NodeJS.ProcessEnv = process.env): Promise<string> => {
  const made = env[PROGRAMS_VARIABLE];
  if (made) return join(made, 'scheduler', BUILT_PAGE);
  // Vite leaves 300 MB in a process, which every later fork of it copies the page tables of.
  const { buildPage } = await import('../../../bundling/build-page.ts');
  await buildPage(directory);
  return directory;
};

/** Where `npm run build` puts it, below the scheduler. */
const BUILT_PAGE = 'scheduler/page/dist';
