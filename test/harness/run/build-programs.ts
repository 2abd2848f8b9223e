import { join } from 'node:path';
import { runOrFail } from './run-command.ts';

const repository = join(import.meta.dirname, '../../..');

/** What `npm run build` makes, in a folder of one's own: exporter/fleet-export and scheduler/fleet-scheduler. */
export const buildPrograms = (directory: string): Promise<void> =>
  bundle('rolldown.programs.config.ts', directory);

/** The programs that tests start and kill; `testProgramFile` finds them in `directory`/test. */
export const buildTestPrograms = (directory: string): Promise<void> =>
  bundle('test/harness/run/rolldown.config.ts', join(directory, 'test'));

const bundle = async (config: string, directory: string): Promise<void> => {
  const program = join(repository, 'node_modules/.bin/rolldown');
  await runOrFail([process.execPath, program, '--config', config, '--log-level', 'silent'], {
    cwd: repository,
    env: { ...process.env, FLEET_BUNDLE_OUT: directory },
  });
};
