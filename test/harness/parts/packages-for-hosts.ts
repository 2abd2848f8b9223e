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

export type PackagesForHosts = Pick<Part, 'variable'> & {
  /** Of the first Debian package, and of the folder in the cache. */
  readonly name: string;
  /** Further packages. What factory hosts have already comes along in the same version. */
  readonly also: readonly string[];
};

/** Debian packages for hosts without a network, with what factory hosts lack of their dependencies: a folder for each release. */
export const packagesForHosts = ({ name, also, variable }: PackagesForHosts): Part => {
  const family = ({ cache }: Machine): string => join(cache, name);
  return {
    title: name,
    variable,
    source: `apt-get download of the packages of Debian ${DEBIANS.map(({ suite }) => suite).join(' and ')}, 10 MB`,
    find: (machine) => newestVersion(family(machine), ['packages']),
    install: async (machine) => {
      const path = await buildVersion(family(machine), async (temporary) => {
        const versions: string[] = [];
        for (const debian of DEBIANS) {
          const base = debian.base.find(machine) ?? (await debian.base.install(machine));
          const to = join(temporary, 'packages', debian.folder);
          const from = { suite: debian.suite, base, names: [name, ...also] };
          versions.push(
            await orExplain(`${name} of Debian ${debian.suite} cannot be used`, () =>
              download(from, to, machine),
            ),
          );
        }
        return versions.join('_');
      });
      return join(path, 'packages');
    },
  };
};

/** @returns the version of the first package */
const download = async (
  {
    suite,
    base,
    names,
  }: { readonly suite: string; readonly base: string; readonly names: readonly string[] },
  to: string,
  machine: Machine,
): Promise<string> => {
  await using work = await temporaryDirectory('packages');
  const apt = await aptForRoot({ base, at: work.path, machine });
  await writeFile(join(work.path, 'etc/debian.sources'), formatAptSource(readAptSource(), suite));
  await apt('update', '--error-on=any');
  await apt('--reinstall', '--download-only', 'install', ...names);
  const archives = join(work.path, 'cache/archives');
  const files = (await readdir(archives)).filter((file) => file.endsWith('.deb'));
  await mkdir(to, { recursive: true });
  for (const file of files) await copyFile(join(archives, file), join(to, file));
  return files.find((file) => file.startsWith(`${names[0]}_`))?.split('_')[1] ?? 'unknown';
};
