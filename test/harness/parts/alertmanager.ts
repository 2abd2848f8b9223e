import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

const NAME = 'prometheus-alertmanager';

/** A receiver of alarms. */
export const alertmanager: Part = {
  title: 'Alertmanager',
  variable: 'FLEET_ALERTMANAGER',
  source: `apt-get install ${NAME}, on this machine`,
  find: (machine) => findProgram(NAME, machine.env),
  // Installed, not unpacked: it reads its templates from /usr/share.
  install: async (machine) => {
    await aptInstall([NAME], machine);
    const path = findProgram(NAME, machine.env);
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', `apt installed ${NAME}, but it is not in PATH.`);
    return path;
  },
};
