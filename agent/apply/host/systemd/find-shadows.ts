import { posix } from 'node:path';
import type { UnitFolders } from './load-path.ts';
import type { PackageUnit } from './package-unit.ts';
import { fragmentOf, type KnownUnit } from './unit-files.ts';

/**
 * The files that systemd reads, or will read after the next daemon-reload, instead of the unit's own: of a directory with higher
 * precedence, or of an instance beside our template. For a unit of the host, all but the one with the lowest precedence, which is its
 * maker's. Masks are left out: enablement shows them.
 * @param files paths of the package
 */
export const findShadows = async (
  { state, ...unit }: PackageUnit,
  files: readonly string[],
  folders: UnitFolders,
): Promise<readonly string[]> => {
  const found = [...(await onDisk(unit, fragmentOf(unit, files), folders))];
  const own = fragmentOf(unit, files);
  if (state?.load === 'loaded' && own !== undefined) {
    const read = unit.quadlet === undefined ? state.fragment : state.source;
    if (read !== '' && !(await isSameFile(folders, read, own))) found.push(read);
  }
  const shadows: string[] = [];
  for (const path of found) if (!(await isMask(folders, path))) shadows.push(path);
  return shadows;
};

const onDisk = async (
  unit: KnownUnit,
  own: string | undefined,
  folders: UnitFolders,
): Promise<readonly string[]> => {
  const holding = pathsOf(unit.name, folders.units);
  if (own === undefined) return holding.slice(0, -1);
  const name = posix.basename(own);
  if (unit.quadlet !== undefined) {
    const generated = folders.units.findIndex(({ path }) => path === '/run/systemd/generator');
    const before = pathsOf(unit.name, folders.units.slice(0, Math.max(generated, 0)));
    return [...before, ...(await pathsBeforeOwn(own, pathsOf(name, folders.quadlets), folders))];
  }
  const isInstance = !unit.names.includes(name);
  const first = await pathsBeforeOwn(own, pathsOf(name, folders.units), folders);
  if (!isInstance) return first;
  // A template is read only if the instance has no file of its own in any directory.
  const instances: string[] = [];
  for (const path of holding) if (!(await isSameFile(folders, path, own))) instances.push(path);
  return [...instances, ...first];
};

const pathsOf = (name: string, folders: UnitFolders['units']): readonly string[] =>
  folders.filter(({ names }) => names.includes(name)).map(({ path }) => posix.join(path, name));

/** The paths before the package's own file, or before a link to it; none if it is not among them. */
const pathsBeforeOwn = async (
  own: string,
  paths: readonly string[],
  folders: UnitFolders,
): Promise<readonly string[]> => {
  for (const [index, path] of paths.entries())
    if (await isSameFile(folders, path, own)) return paths.slice(0, index);
  return [];
};

const isSameFile = async ({ target }: UnitFolders, a: string, b: string): Promise<boolean> =>
  (await target(a)) === (await target(b));

const isMask = async ({ target }: UnitFolders, path: string): Promise<boolean> =>
  /^\/(etc|run)\/systemd\/system\//.test(path) && (await target(path)) === '/dev/null';
