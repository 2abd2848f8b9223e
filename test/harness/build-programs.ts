import { join } from 'node:path';
import { runOrFail } from './run-command.ts';

const repository = join(import.meta.dirname, '../..');

/** What `npm run build` makes, in a folder of one's own: exporter/fleet-export and scheduler/fleet-scheduler. */
export const buildPrograms = async (directory: string): Promise<void> => {
  const program = join(repository, 'node_modules/.bin/rolldown');
  await runOrFail(
    [process.execPath, program, '--config', 'rolldown.programs.config.ts', '--log-level', 'silent'],
    { cwd: repository, env: { ...process.env, FLEET_BUNDLE_OUT: directory } },
  );
};
