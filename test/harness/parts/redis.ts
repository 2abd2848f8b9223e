import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

/** In Debian the server and this are one file. The package redis-server would start a service. */
const NAME = 'redis-check-rdb';

/** The cache of Argo CD: Redis' server, where it is called `redis-server`. */
export const redis = {
  title: 'Redis',
  variable: 'FLEET_REDIS',
  source: 'apt-get install redis-tools, on this machine',
  onlyInLong: true,
  find: (machine) => findProgram(NAME, machine.env),
  install: async (machine) => {
    await aptInstall(['redis-tools'], machine);
    const path = findProgram(NAME, machine.env);
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', `apt installed redis-tools, but ${NAME} is not in PATH.`);
    return path;
  },
} as const satisfies Part;
