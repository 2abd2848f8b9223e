import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackages } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

/** The library of pkcs11-tool is in opensc-pkcs11. */
const PACKAGES = ['opensc', 'opensc-pkcs11', 'softhsm2', 'libsofthsm2'] as const;
const TRIPLETS: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

const family = (machine: Machine): string => join(machine.cache, 'pkcs11');
const find = (machine: Machine): string | undefined => {
  const found = newestVersion(family(machine), ['usr/bin/pkcs11-tool']);
  return found === undefined ? undefined : join(found, '../../..');
};

/** What the programs of an unpacked folder need: their libraries, and SoftHSM's module. */
export const pkcs11Paths = (folder: string) => ({
  tool: join(folder, 'usr/bin/pkcs11-tool'),
  softhsm: join(folder, 'usr/bin/softhsm2-util'),
  module: join(folder, 'usr/lib/softhsm/libsofthsm2.so'),
  libraries: join(folder, 'usr/lib', TRIPLETS[process.arch] ?? process.arch),
});

/** A token in software, and the tool that people sign with by a token: all of a PKCS#11 token but the plastic. */
export const pkcs11: Part = {
  title: 'SoftHSM and pkcs11-tool',
  variable: 'FLEET_PKCS11',
  source: 'the packages softhsm2 and opensc of Debian bookworm, unpacked into the cache',
  find,
  install: async (machine) => {
    await orExplain("Debian bookworm's packages 'softhsm2' and 'opensc' cannot be used", () =>
      buildVersion(family(machine), async (temporary) => {
        const version = await unpackDebianPackages(PACKAGES, 'bookworm', temporary, machine);
        const { tool, module, libraries } = pkcs11Paths(temporary);
        const settings = join(temporary, 'softhsm2.conf');
        await writeFile(settings, `directories.tokendir = ${temporary}\n`);
        const env = { ...process.env, LD_LIBRARY_PATH: libraries, SOFTHSM2_CONF: settings };
        await runOrFail([tool, '--module', module, '--show-info'], { env });
        return version;
      }),
    );
    const path = find(machine);
    if (path === undefined) throw new FleetError('INTERNAL', 'SoftHSM was installed but is not found.');
    return path;
  },
};
