import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackages } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const PROGRAM = 'bin/qemu-aarch64-static';
/** The program, and the C and C++ libraries of arm64 that Node runs with. */
const PACKAGES = [
  'qemu-user-static',
  'libc6-arm64-cross',
  'libgcc-s1-arm64-cross',
  'libstdc++6-arm64-cross',
] as const;

const family = ({ cache }: Machine): string => join(cache, 'qemu-arm64');
/** The folder `usr` of the packages. */
const find = (machine: Machine): string | undefined => newestVersion(family(machine), ['usr']);

/** The words before a program of arm64 that start it on any machine. @param part the path of qemuArm64 */
export const onArm64 = (part: string): readonly [string, ...string[]] => [
  join(part, PROGRAM),
  '-L',
  join(part, 'aarch64-linux-gnu'),
];

/** Runs programs of Linux for arm64, as processes of this machine. */
export const qemuArm64 = {
  title: 'qemu-user for arm64',
  variable: 'FLEET_QEMU_ARM64',
  source:
    "the package qemu-user-static of Debian bookworm and arm64's libc6 and libstdc++6, unpacked into the cache",
  onlyInLong: true,
  find,
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    await orExplain("Debian bookworm's package 'qemu-user-static' cannot be used", () =>
      buildVersion(family(machine), async (temporary) => {
        const version = await unpackDebianPackages(PACKAGES, 'bookworm', temporary, machine);
        const usr = join(temporary, 'usr');
        await runOrFail([
          ...onArm64(usr),
          join(usr, 'aarch64-linux-gnu/lib/ld-linux-aarch64.so.1'),
          '--version',
        ]);
        return version;
      }),
    );
    const path = find(machine);
    if (path === undefined) throw new FleetError('INTERNAL', 'qemu was installed but is not found.');
    return path;
  },
} as const satisfies Part;
