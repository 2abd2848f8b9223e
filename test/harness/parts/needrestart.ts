import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { aptForRoot } from './apt-for-root.ts';
import { formatAptSource, readAptSource } from './apt-source.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { factoryBase } from './factory-base.ts';
import { factoryBase13 } from './factory-base-13.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const DEBIANS = [
  { folder: 'debian-12', suite: 'bookworm', base: factoryBase },
  { folder: 'debian-13', suite: 'trixie', base: factoryBase13 },
] as const;

const family = ({ cache }: Machine): string => join(cache, 'needrestart');
const find = (machine: Machine): string | undefined => newestVersion(family(machine), ['packages']);

/** needrestart for hosts without a network, and the C library in the version that they have, whose installation replaces its files as an upgrade does. */
export const needrestart: Part = {
  title: 'needrestart',
  variable: 'FLEET_NEEDRESTART',
  source: 'apt-get download of the packages of Debian bookworm and trixie, 10 MB',
  find,
  install: async (machine) => {
    const path = await buildVersion(family(machine), async (temporary) => {
      const versions: string[] = [];
      for (const debian of DEBIANS) {
        const base = debian.base.find(machine) ?? (await debian.base.install(machine));
        const to = join(temporary, 'packages', debian.folder);
        versions.push(
          await orExplain(`needrestart of Debian ${debian.suite} cannot be used`, () =>
            download(debian.suite, base, to, machine),
          ),
        );
      }
      return versions.join('_');
    });
    return join(path, 'packages');
  },
};

/** @returns the version of needrestart */
const download = async (suite: string, base: string, to: string, machine: Machine): Promise<string> => {
  await using work = await temporaryDirectory('needrestart');
  const apt = await aptForRoot({ base, at: work.path, machine });
  await writeFile(join(work.path, 'etc/debian.sources'), formatAptSource(readAptSource(), suite));
  await apt('update', '--error-on=any');
  await apt('--reinstall', '--download-only', 'install', 'needrestart', 'libc6');
  const archives = join(work.path, 'cache/archives');
  const files = (await readdir(archives)).filter((name) => name.endsWith('.deb'));
  await mkdir(to, { recursive: true });
  for (const name of files) await copyFile(join(archives, name), join(to, name));
  return files.find((name) => name.startsWith('needrestart_'))?.split('_')[1] ?? 'unknown';
};
