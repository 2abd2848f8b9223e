import { join } from 'node:path';
import { runOrFail } from './run-command.ts';

const repository = join(import.meta.dirname, '../../..');

/**
 * Makes what `npm run bundle:agent` makes, into `directory`. It needs nothing but Node to run.
 * @param platform of its add-on, such as linux-arm64; by default this machine's
 * @returns the path of fleet-agent.mjs; the whole program is main.cjs beside it
 */
export const bundleAgent = async (directory: string, platform?: string): Promise<string> => {
  const program = join(repository, 'node_modules/.bin/rolldown');
  await runOrFail([process.execPath, program, '--config', 'rolldown.config.ts', '--log-level', 'silent'], {
    cwd: repository,
    env: {
      ...process.env,
      FLEET_BUNDLE_OUT: directory,
      ...(platform === undefined ? {} : { FLEET_ADDON: platform }),
    },
  });
  return join(directory, 'fleet-agent.mjs');
};
