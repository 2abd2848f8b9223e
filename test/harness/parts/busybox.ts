import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { isProgram } from '../run/find-program.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackage } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const suite = 'bookworm';
const places = ['bin/busybox', 'usr/bin/busybox'];
const family = (machine: Machine): string => join(machine.cache, 'busybox');

/** A shell, a web server and all that in one static file: what a container image of a test is made of. */
export const busybox: Part = {
  title: 'busybox',
  variable: 'FLEET_BUSYBOX',
  source: `the package busybox-static of Debian ${suite}, unpacked into the cache`,
  find: (machine) => newestVersion(family(machine), places),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    const folder = await orExplain(`Debian ${suite}'s busybox-static cannot be used`, () =>
      buildVersion(family(machine), async (temporary) => {
        const version = await unpackDebianPackage('busybox-static', suite, temporary, machine);
        await runOrFail([programIn(temporary), 'true']);
        return version;
      }),
    );
    return programIn(folder);
  },
};

const programIn = (folder: string): string => {
  const path = places.map((place) => join(folder, place)).find(isProgram);
  if (path === undefined) throw new FleetError('TOOL_MISSING', 'The package has no busybox in it.');
  return path;
};
