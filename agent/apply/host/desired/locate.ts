import { FleetError } from '#bundles/errors';
import type { Places } from '../live/read-places.ts';
import { ancestorsOf } from './ancestors-of.ts';
import type { Wanted, WantedDirectory, WantedFile, WantedSecret } from './read-wanted.ts';

/**
 * Returns the package with every path as its place on this host (read-places.ts); `named` keeps what the package writes. Playbooks,
 * install and checks keep their names: they are read from the package or opened by name.
 * @throws FleetError PATH_CLAIMED if two names of the package are one entry of this host
 */
export const locate = async (wanted: Wanted, places: Places): Promise<Wanted> => {
  const directories: WantedDirectory[] = [];
  const taken = new Map<string, WantedDirectory>();
  for (const directory of wanted.directories) {
    const located = { ...directory, path: await places.file(directory.path) };
    const other = taken.get(located.path);
    if (other && !isSameDirectoryEntry(other, located)) throw oneEntry(wanted, located, other);
    if (!other) directories.push(located);
    taken.set(located.path, located);
  }
  const entries = new Map<string, WantedDirectory>();
  const place = async <One extends WantedFile | WantedSecret>(
    all: ReadonlyMap<string, One>,
  ): Promise<ReadonlyMap<string, One>> => {
    const found = new Map<string, One>();
    for (const one of all.values()) {
      const located = { ...one, path: await places.file(one.path) };
      const other = taken.get(located.path);
      if (other) throw oneEntry(wanted, located, other);
      taken.set(located.path, located);
      entries.set(located.path, located);
      found.set(located.path, located);
    }
    return found;
  };
  const files = await place(wanted.files);
  const secrets = await place(wanted.secrets);
  for (const below of taken.values()) {
    const above = ancestorsOf(below.path).find((folder) => entries.has(folder));
    if (above !== undefined) throw oneEntry(wanted, below, entries.get(above) as WantedDirectory, 'below');
  }
  const units = await Promise.all(
    wanted.units.map(async (unit) => ({
      ...unit,
      restartOn: await Promise.all(unit.restartOn.map((path) => places.file(path))),
    })),
  );
  return { ...wanted, directories, files, secrets, units };
};

const isSameDirectoryEntry = (a: WantedDirectory, b: WantedDirectory): boolean =>
  a.mode === b.mode && a.owner === b.owner && a.group === b.group;

const oneEntry = (
  { assignment }: Wanted,
  { path, named }: WantedDirectory,
  other: WantedDirectory,
  how: 'is' | 'below' = 'is',
): FleetError =>
  new FleetError(
    'PATH_CLAIMED',
    how === 'is'
      ? `${assignment} lists ${other.named} and ${named}, which are one entry of this host, ${path}`
      : `${assignment} lists ${named} below its own file ${other.named}: on this host they are ${path} and ${other.path}`,
    { hint: 'Links or mounts of the host make them one: remove one of the two from the package' },
  );
