import { debianPlace } from '#bundles/formats/bounds/debian-place';
import type { HostFile } from '#bundles/formats/bundle/host-package';
import { FleetError, formatPlace, type Place } from '#bundles/errors';
import type { Content } from './content.ts';
import type { HostDirectoryObject, HostPackageObject } from './host-package-object.ts';

/** A file of the package with its bytes, and the place that requests it. */
export type ResolvedFile = {
  readonly file: HostFile;
  /** Bytes of a file in the package's layer; otherwise `content`, a blob of its own. */
  readonly bytes?: { readonly path: string; readonly bytes: Buffer };
  readonly content?: Content;
  /** Fields of the control file, for a Debian package of `debs`. */
  readonly deb?: { readonly name: string; readonly version: string; readonly architecture: string };
  readonly at: Place;
};

type Claim = { readonly path: string; readonly at: Place; readonly directory?: HostDirectoryObject };

/**
 * Checks that every path and unit of a package is unique, that no path is below a file, and that every referenced file exists.
 * Equal folders of two parts are merged. @returns the folders, each once
 * @throws FleetError OBJECT_CLASH, REFERENCE_MISSING with the place of the second
 */
export const checkHostPaths = (
  objects: readonly HostPackageObject[],
  files: readonly ResolvedFile[],
): readonly HostDirectoryObject[] => {
  const directories = objects.flatMap((object) => object.directories);
  const taken = new Map<string, Claim>();
  const once: HostDirectoryObject[] = [];
  for (const directory of directories) {
    const place = debianPlace(directory.path);
    const known = taken.get(place);
    if (!known) once.push(directory);
    else if (!isSameDirectory(known.directory, directory)) throw clash(directory, known);
    taken.set(place, { ...directory, directory });
  }
  const secrets = objects.flatMap((object) => object.secrets);
  const all = [...files.map(({ file, at }) => ({ path: file.path, at })), ...secrets];
  for (const { path, at } of all) {
    const known = taken.get(debianPlace(path));
    if (known) throw clash({ path, at }, known);
    taken.set(debianPlace(path), { path, at });
  }
  checkAbove([...directories, ...all], all);
  checkUnits(objects, all);
  return once;
};

const isSameDirectory = (a: HostDirectoryObject | undefined, b: HostDirectoryObject): boolean =>
  a?.mode === b.mode && a.owner === b.owner && a.group === b.group;

const clash = ({ path, at }: Claim, known: Claim): FleetError =>
  new FleetError(
    'OBJECT_CLASH',
    known.path === path
      ? `${path} is there twice in this package, first at ${formatPlace(known.at)}`
      : `${path} is the same on every host as ${known.path} at ${formatPlace(known.at)}: both are ${debianPlace(path)}`,
    {
      at,
      hint: 'Remove or rename one of the two',
    },
  );

const checkAbove = (claims: readonly Claim[], files: readonly Claim[]): void => {
  const isFile = new Map(files.map(({ path, at }) => [debianPlace(path), at]));
  for (const { path: written, at } of claims) {
    const path = debianPlace(written);
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const above = path.slice(0, end);
      const file = isFile.get(above);
      if (!file) continue;
      throw new FleetError(
        'OBJECT_CLASH',
        `${path} is below ${above}, which is a file (${formatPlace(file)})`,
        {
          at,
          hint: 'Move one of the two',
        },
      );
    }
  }
};

const checkUnits = (objects: readonly HostPackageObject[], files: readonly Claim[]): void => {
  const paths = new Set(files.map(({ path }) => path));
  const names = new Map<string, Place>();
  for (const { name, at, restartOn } of objects.flatMap((object) => object.units)) {
    const known = names.get(name);
    if (known) throw clash({ path: name, at }, { path: name, at: known });
    names.set(name, at);
    const gone = restartOn.find((path) => !paths.has(path));
    if (gone === undefined) continue;
    throw new FleetError(
      'REFERENCE_MISSING',
      `${name} restarts on ${gone}, which is not a file of this package`,
      {
        at,
        hint: 'Name a path under files or secrets',
      },
    );
  }
};
