import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Machine, Part } from './part.ts';

const SHELL = 'chromium-headless-shell';

const find = ({ env }: Machine): string | undefined =>
  findProgram(SHELL, env) ?? findProgram('chromium', env);

/** A browser for the page of the hub: Chromium without the windows of a desktop, which take a third of its CPU time. */
export const chromium: Part = {
  title: 'Chromium',
  variable: 'FLEET_CHROMIUM',
  source: 'apt-get install chromium-headless-shell, on this machine',
  find,
  // Installed, not unpacked: it is linked against a hundred libraries.
  install: async (machine) => {
    await aptInstall([SHELL], machine);
    const path = find(machine);
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', `apt installed ${SHELL}, but it is not in PATH.`);
    return path;
  },
};
