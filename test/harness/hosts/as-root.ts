import { spawnSync } from 'node:child_process';
import { FleetError } from '../../../bundles/errors.ts';

/** How root's rights are had here: as they are, through a sudo that asks no password, or not at all. */
export type RootAccess = 'root' | 'sudo' | 'none';

let known: RootAccess | undefined;

export const rootAccess = (): RootAccess => {
  known ??= process.getuid?.() === 0 ? 'root' : sudoAccess();
  return known;
};

/** The command line that runs `argv` as root. PERMISSION where that is impossible. */
export const asRoot = (argv: readonly string[]): readonly string[] => {
  const access = rootAccess();
  if (access === 'none')
    throw new FleetError('PERMISSION', `'${argv[0]}' needs root, or a sudo that asks for no password.`);
  return access === 'root' ? argv : ['sudo', '-n', ...argv];
};

const sudoAccess = (): 'sudo' | 'none' =>
  spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? 'sudo' : 'none';
