import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

/** Copies images between registries, layouts and archives: the reader that operators already trust. */
export const skopeo: Part = {
  title: 'skopeo',
  variable: 'FLEET_SKOPEO',
  source: 'apt-get install skopeo, on this machine',
  find: (machine) => findProgram('skopeo', machine.env),
  // Installed, not unpacked: it is linked against gpgme and device-mapper.
  install: async (machine) => {
    await aptInstall(['skopeo'], machine);
    const path = findProgram('skopeo', machine.env);
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', 'apt installed skopeo, but it is not in PATH.');
    return path;
  },
};
