import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

/** Reads the playbooks that we render as a host's own Ansible would. */
export const ansible: Part = {
  title: 'Ansible',
  variable: 'FLEET_ANSIBLE',
  source: 'apt-get install ansible-core, on this machine',
  find: (machine) => findProgram('ansible-playbook', machine.env),
  install: async (machine) => {
    await aptInstall(['ansible-core'], machine);
    const path = findProgram('ansible-playbook', machine.env);
    if (path === undefined)
      throw new FleetError(
        'TOOL_MISSING',
        'apt installed ansible-core, but ansible-playbook is not in PATH.',
      );
    return path;
  },
};
