import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { Wanted } from '../desired/read-wanted.ts';
import { hostError } from '../host-error.ts';
import { openFolder } from '../live/open-folder.ts';
import type { Places } from '../live/read-places.ts';
import type { Owned } from '../owned-state.ts';
import { hasFragment, templateOf } from './unit-files.ts';

/** The directories to which `systemctl edit` and `systemctl set-property` write. Drop-ins of Debian packages are elsewhere. */
const PLACES = [
  '/etc/systemd/system',
  '/etc/systemd/system.control',
  '/run/systemd/system',
  '/run/systemd/system.control',
];

/** Places of the drop-ins of a unit and its template that an administrator may have written. Reads the disk and does not ask systemd. */
export const dropInsOf = async (root: string, places: Places, unit: string): Promise<readonly string[]> => {
  const names = [...new Set([unit, templateOf(unit)])];
  const found: string[] = [];
  for (const path of PLACES.flatMap((place) => names.map((name) => posix.join(place, `${name}.d`)))) {
    await using folder = await openFolder(root, path);
    if (!folder) continue;
    const entries = await readdir(folder.at('.')).catch((error: unknown) => {
      throw hostError(error, `reading the directory ${path}`);
    });
    const place = await places.folder(path);
    found.push(...entries.filter((name) => name.endsWith('.conf')).map((name) => posix.join(place, name)));
  }
  return [...new Set(found)].toSorted(compareBytes);
};

/**
 * Drop-ins of units of the package that the package does not list. For a unit of the host, those that existed before the package are
 * not foreign; if an older inventory does not record them, none is.
 */
export const foreignDropIns = async (
  { root, places }: { readonly root: string; readonly places: Places },
  unit: string,
  wanted: Wanted,
  owned: Owned,
): Promise<readonly string[]> => {
  const before = hasFragment(unit, wanted.files.keys()) ? [] : owned.units.get(unit)?.dropIns;
  if (!before) return [];
  return (await dropInsOf(root, places, unit)).filter(
    (path) => !wanted.files.has(path) && !owned.files.has(path) && !before.includes(path),
  );
};
