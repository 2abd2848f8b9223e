import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { rootAccess } from '../hosts/as-root.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackages } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const suite = 'bookworm';
const inside = 'usr/bin/podman';

/** podman, what it wants to have around, and the one library of it that skopeo does not bring as well. */
const packages = ['podman', 'conmon', 'runc', 'libsubid4'] as const;

const family = (machine: Machine): string => join(machine.cache, 'podman');

/** Builds images from a Dockerfile, for openPodman. Unpacked: installing it would upgrade packages of the machine. */
export const podman: Part = {
  title: 'podman',
  variable: 'FLEET_PODMAN',
  source: `the packages ${packages.join(', ')} of Debian ${suite}, unpacked into the cache`,
  find: (machine) => (whyNotHere() === undefined ? newestVersion(family(machine), [inside]) : undefined),
  install: async (machine) => {
    const reason = whyNotHere();
    if (reason !== undefined) throw new FleetError('TOOL_MISSING', reason);
    await mkdir(family(machine), { recursive: true });
    const folder = await orExplain(`Debian ${suite}'s podman cannot be used`, () =>
      buildVersion(family(machine), async (temporary) => {
        const version = await unpackDebianPackages(packages, suite, temporary, machine);
        const env = { ...machine.env, LD_LIBRARY_PATH: join(temporary, LIBRARIES) };
        await runOrFail([join(temporary, inside), '--version'], { env });
        return version;
      }),
    );
    return join(folder, inside);
  },
};

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** Where Debian has its libraries on this machine's architecture, below the folder the packages are unpacked to. */
export const LIBRARIES = `usr/lib/${ARCHITECTURES[process.arch] ?? process.arch}-linux-gnu`;

const whyNotHere = (): string | undefined => {
  if (process.platform !== 'linux') return 'podman needs Linux.';
  return rootAccess() === 'root' ? undefined : 'podman, as it is used here, needs root.';
};
