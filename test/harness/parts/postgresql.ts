import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { aptInstall } from './apt-install.ts';
import type { Part } from './part.ts';

/** Where Debian and others put the programs of a PostgreSQL server. */
const PLACES = ['/usr/lib/postgresql/*/bin/initdb', '/usr/local/bin/initdb', '/usr/bin/initdb'];

const findPrograms = (): string | undefined => {
  const [initdb] = PLACES.flatMap((place) =>
    globSync(place).sort((a, b) => b.localeCompare(a, 'en', { numeric: true })),
  );
  return initdb === undefined ? undefined : dirname(initdb);
};

/** The database server that a hub may use: the folder with initdb, pg_ctl and pg_dump. */
export const postgresql: Part = {
  title: 'PostgreSQL',
  variable: 'FLEET_POSTGRESQL',
  source: 'apt-get install postgresql, on this machine',
  find: findPrograms,
  install: async (machine) => {
    await aptInstall(['postgresql'], machine);
    const path = findPrograms();
    if (path === undefined)
      throw new FleetError('TOOL_MISSING', 'apt installed postgresql, but its initdb was not found.');
    return path;
  },
};
