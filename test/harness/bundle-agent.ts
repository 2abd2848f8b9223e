import { join } from 'node:path';
import { runOrFail } from './run-command.ts';

const repository = join(import.meta.dirname, '../..');

/**
 * Makes what `npm run bundle:agent` makes, into a folder of one's own: fleet-agent.mjs, its add-on, and the link that people
 * type. Nothing else is needed to run it but Node. @returns the path of fleet-agent.mjs
 */
export const bundleAgent = async (directory: string): Promise<string> => {
  const program = join(repository, 'node_modules/.bin/rolldown');
  await runOrFail([process.execPath, program, '--config', 'rolldown.config.ts', '--log-level', 'silent'], {
    cwd: repository,
    env: { ...process.env, FLEET_BUNDLE_OUT: directory },
  });
  return join(directory, 'fleet-agent.mjs');
};
