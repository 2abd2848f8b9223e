import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackage } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const TRIPLETS: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const LIBRARY = `usr/lib/${TRIPLETS[process.arch] ?? process.arch}/faketime/libfaketime.so.1`;

const family = (machine: Machine): string => join(machine.cache, 'libfaketime');
const find = (machine: Machine): string | undefined => newestVersion(family(machine), [LIBRARY]);

/** A wrong clock for one process: a library that is loaded before others and answers for the system's. */
export const faketime: Part = {
  title: 'libfaketime',
  variable: 'FLEET_FAKETIME',
  source: 'the package of Debian bookworm, unpacked into the cache',
  find,
  install: async (machine) => {
    await orExplain("Debian bookworm's package 'libfaketime' cannot be used", () =>
      buildVersion(family(machine), async (temporary) => {
        const version = await unpackDebianPackage('libfaketime', 'bookworm', temporary, machine);
        const env = { ...process.env, LD_PRELOAD: join(temporary, LIBRARY), FAKETIME: '-10y' };
        await runOrFail(['date'], { env });
        return version;
      }),
    );
    const path = find(machine);
    if (path === undefined) throw new FleetError('INTERNAL', 'libfaketime was installed but is not found.');
    return path;
  },
};
