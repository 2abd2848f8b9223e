import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

/** A browser for the page of the hub. */
export const chromium: Part = {
  title: 'Chromium',
  variable: 'FLEET_CHROMIUM',
  source: 'apt-get install chromium, on this machine',
  find: (machine) => findProgram('chromium', machine.env),
  // Installed, not unpacked: it is linked against a hundred libraries.
  install: async (machine) => {
    await aptInstall(['chromium'], machine);
    const path = findProgram('chromium', machine.env);
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', 'apt installed chromium, but it is not in PATH.');
    return path;
  },
};
