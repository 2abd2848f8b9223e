import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { Places } from '../live/read-places.ts';
import { fileKey, type Owned } from '../owned/owned-state.ts';
import { debianOwned } from './debian-owned.ts';
import { findShadows } from './find-shadows.ts';
import { type Listed, listDirectories, readUnitFolders, type UnitFolders } from './load-path.ts';
import type { PackageUnit } from './package-unit.ts';
import { isBesideQuadlets } from './quadlets.ts';
import { hasFragment, type KnownUnit, namesIn } from './unit-files.ts';
import { dropInFolders, templateOf } from './unit-names.ts';

/** A file that changes or replaces a unit of the package, and that no package of the agent brings. */
export type ForeignFile = {
  readonly path: string;
  /** The unit of the package. */
  readonly unit: string;
  /** 'shadow': systemd reads it instead of the unit's own file. */
  readonly what: 'drop-in' | 'shadow';
  /** Why the agent leaves it in place; words that follow 'because'. */
  readonly stays?: string;
};

export type Ours = {
  readonly places: Places;
  /** With places as paths (locate.ts). */
  readonly wanted: Wanted;
  readonly owned: Owned;
  /** Keys of other packages, of their places -> assignment. */
  readonly taken: ReadonlyMap<string, string>;
};

/**
 * Finds what changes or replaces units of a package, by unit, also what was there before the package: what systemd has read
 * (DropInPaths, FragmentPath, SourcePath), and what it will read after the next daemon-reload or boot. NeedDaemonReload does not tell
 * the latter: it misses a new folder of drop-ins, and a unit file in a directory of higher precedence. Drop-ins of Debian packages
 * belong to the host.
 * @throws FleetError PERMISSION, IO, ABORTED
 */
export const readForeign = async (
  options: HostTargetOptions,
  units: readonly PackageUnit[],
  ours: Ours,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly ForeignFile[]>> => {
  if (units.length === 0) return new Map();
  const folders = await readUnitFolders(
    options,
    units.some(({ quadlet }) => quadlet !== undefined),
    signal,
  );
  const { wanted, owned, taken, places } = ours;
  const isOurs = (path: string): boolean =>
    [wanted.files, wanted.secrets, owned.files, owned.secrets].some((all) => all.has(path)) ||
    taken.has(fileKey(path));
  const names = namesIn(wanted);
  const found = new Map<string, ForeignFile[]>();
  for (const unit of units) {
    const files = new Map<string, ForeignFile>();
    const note = async (paths: readonly string[], what: ForeignFile['what']): Promise<void> => {
      for (const name of paths) {
        const path = await places.file(name);
        if (!isOurs(path)) files.set(path, { path, unit: unit.name, what });
      }
    };
    await note(unit.state?.dropIns ?? [], 'drop-in');
    await note(await dropInsOnDisk(unit, folders), 'drop-in');
    await note(await findShadows(unit, names, folders), 'shadow');
    found.set(
      unit.name,
      [...files.values()].toSorted((a, b) => compareBytes(a.path, b.path)),
    );
  }
  const all = [...found.values()].flat();
  const debian = await debianOwned(options, [...new Set(all.map(({ path }) => path))], signal);
  const others = namesOfHost(units, ours, folders);
  return new Map(
    [...found].map(([unit, files]) => [
      unit,
      files
        .filter(({ path, what }) => what === 'shadow' || !debian.has(path))
        .map((file) => ({ ...file, ...whyKept(file, others, debian) })),
    ]),
  );
};

/** Names of units and quadlets on the host that are not of the agent's packages. */
const namesOfHost = (
  units: readonly PackageUnit[],
  { wanted, owned, taken }: Ours,
  { units: folders, quadlets }: UnitFolders,
): readonly string[] => {
  const keys = [...taken.keys()].map((key) => key.slice(key.indexOf(':') + 1));
  const paths = [...namesIn(wanted), ...owned.files.keys(), ...keys];
  const ours = new Set([
    ...paths.map((path) => posix.basename(path)),
    ...units.flatMap(({ names }) => [...names, ...names.map(templateOf)]),
  ]);
  // Messages name one of them: rather one that a boot does not empty.
  return [...folders, ...quadlets]
    .toSorted((a, b) => Number(isVolatile(a.path)) - Number(isVolatile(b.path)))
    .flatMap(({ names }) => names)
    .filter((name) => !ours.has(name));
};

const isVolatile = (path: string): boolean => path.startsWith('/run/');

const whyKept = (
  { path, what, unit }: ForeignFile,
  others: readonly string[],
  debian: ReadonlySet<string>,
): Pick<ForeignFile, 'stays'> => {
  if (/^\/run\/systemd\/(generator|transient)/.test(path))
    return { stays: 'a program of the host made it and will make it again' };
  if (debian.has(path)) return { stays: 'a Debian package brings it' };
  const name = posix.basename(path);
  if (what === 'shadow')
    return name === unit || name === templateOf(unit) || isBesideQuadlets(path)
      ? {}
      : { stays: `it is the file of ${name}` };
  const folder = posix.basename(posix.dirname(path));
  const other = others.find((one) => dropInFolders(one).has(folder));
  return other === undefined ? {} : { stays: `it changes units of the host as well, ${other} for one` };
};

/** The drop-ins that systemd and Podman will read for a unit. */
const dropInsOnDisk = async (
  { names, quadlet }: PackageUnit,
  { root, units, quadlets }: UnitFolders,
): Promise<readonly string[]> => {
  const within = (folders: readonly Listed[], of: readonly string[]): readonly string[] => {
    const wanted = new Set(of.flatMap((name) => [...dropInFolders(name)]));
    return folders.flatMap(({ path, names: all }) =>
      all.filter((name) => wanted.has(name)).map((name) => posix.join(path, name)),
    );
  };
  const folders = [
    ...within(units, names),
    ...(quadlet === undefined ? [] : within(quadlets, [posix.basename(quadlet)])),
  ];
  return (await listDirectories(root, folders)).flatMap(({ path, names: all }) =>
    all.filter((name) => name.endsWith('.conf')).map((name) => posix.join(path, name)),
  );
};

/** Places of the drop-ins that older agents recorded of a unit of the host. */
const LEGACY_PATHS = [
  '/etc/systemd/system',
  '/etc/systemd/system.control',
  '/run/systemd/system',
  '/run/systemd/system.control',
];

const wasRecorded = (unit: string, path: string): boolean =>
  [unit, templateOf(unit)].some((name) =>
    LEGACY_PATHS.some((place) => path.startsWith(`${place}/${name}.d/`)),
  );

/**
 * Those of the files that are drift. For a unit of the host, those from before the package are not; if an older inventory does not
 * record them, none is.
 */
export const driftedFiles = (
  unit: KnownUnit,
  files: readonly ForeignFile[],
  { wanted, owned }: Pick<Ours, 'wanted' | 'owned'>,
): readonly ForeignFile[] => {
  if (hasFragment(unit, namesIn(wanted))) return files;
  const before = owned.units.get(unit.name);
  if (before?.dropIns === undefined) return [];
  const { dropIns, everyKind } = before;
  return files.filter(({ path }) => !dropIns.includes(path) && (everyKind || wasRecorded(unit.name, path)));
};

/** The paths to record for a unit of the host: files from before the package, which are no drift. */
export const filesBeforePackage = (
  unit: KnownUnit,
  files: readonly ForeignFile[],
  { owned }: Pick<Ours, 'owned'>,
): { readonly dropIns: readonly string[]; readonly everyKind: true } => {
  const before = owned.units.get(unit.name);
  const more = files
    .map(({ path }) => path)
    .filter((path) => !before?.dropIns || !(before.everyKind || wasRecorded(unit.name, path)));
  return {
    dropIns: [...new Set([...(before?.dropIns ?? []), ...more])].toSorted(compareBytes),
    everyKind: true,
  };
};
