import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackages } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const NAMES = ['exfat-fuse', 'exfatprogs', 'libfuse2'] as const;
const PROGRAM = 'sbin/mount.exfat-fuse';

const family = (machine: Machine): string => join(machine.cache, 'exfat');
const find = (machine: Machine): string | undefined => {
  const program = newestVersion(family(machine), [PROGRAM]);
  return program?.slice(0, -PROGRAM.length - 1);
};

/** A file system without modes and owners, mounted by FUSE: the path is the root of its packages. */
export const exfat: Part = {
  title: 'exfat-fuse',
  variable: 'FLEET_EXFAT',
  source: `the packages ${NAMES.join(', ')} of Debian bookworm, unpacked into the cache`,
  find,
  install: async (machine) => {
    await orExplain("Debian bookworm's exfat-fuse cannot be used", () =>
      buildVersion(family(machine), (temporary) =>
        unpackDebianPackages([...NAMES], 'bookworm', temporary, machine),
      ),
    );
    const path = find(machine);
    if (path === undefined) throw new FleetError('INTERNAL', 'exfat-fuse was installed but is not found.');
    return path;
  },
};
