import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import type { HostDeb, HostHook, HostInstall } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import { FleetError, formatPlace, type Place } from '#bundles/errors';
import type { ResolvedFile } from '../../content/check-host-paths.ts';
import type { HostPackageObject } from '../../content/host-package-object.ts';
import type { HookObject, InstallObject } from '../../content/install-object.ts';
import { contentHome } from '../../content/place-contents.ts';

/** `install` of package.json, and the place that requests it. */
export type ResolvedInstall = { readonly install: HostInstall; readonly at: Place };

/**
 * Resolves the one `install` of a package against the Debian packages of its repository; undefined without one.
 * @throws FleetError OBJECT_CLASH for a second one, and for a Debian package at two versions; REFERENCE_MISSING
 */
export const resolveInstall = (
  objects: readonly HostPackageObject[],
  files: readonly ResolvedFile[],
  id: string,
): ResolvedInstall | undefined => {
  const [object, second] = objects.filter((one) => one.install);
  if (second?.install)
    throw new FleetError('OBJECT_CLASH', `two parts of ${id} have an install`, {
      at: second.install.at,
      hint: 'Write one install for all Debian packages',
    });
  const { install, folders } = object ?? {};
  if (!install) return undefined;
  const { packages, at, atLeast, debconf, conffiles, onRemoval, services, hooks } = install;
  const repository = folders?.apt ?? contentHome('apt', id);
  const debs = debsIn(repository, files);
  if (debs.size === 0)
    throw new FleetError('REFERENCE_MISSING', `install needs Debian packages, and ${id} has none in debs`, {
      at,
    });
  const named = new Map(packages.map((one) => [one.value.name, one]));
  const unknown = packages.find(({ value }) => !debs.has(value.name));
  if (unknown)
    throw new FleetError('REFERENCE_MISSING', `${unknown.value.name} is not one of the debs of ${id}`, {
      at: unknown.at,
      hint: 'Bring it along in debs',
    });
  checkHooks(hooks, debs, files);
  return {
    at,
    install: defined({
      repository,
      packages: [...debs.values()].map(({ name, version }): HostDeb => {
        const wanted = named.get(name)?.value;
        return defined({
          name,
          version,
          asDependency: named.size > 0 && !wanted ? (true as const) : undefined,
          hold: wanted?.hold ? (true as const) : undefined,
          atLeast: atLeast ? (true as const) : undefined,
          adopt: wanted?.adopt ? (true as const) : undefined,
        });
      }),
      conffiles,
      debconf: debconf.length > 0 ? debconf : undefined,
      onRemoval,
      services,
      hooks: hooks.length > 0 ? hooks.map(({ value }) => toHook(value)) : undefined,
    }),
  };
};

const toHook = ({ package: name, before, after, restore, timeoutSeconds }: HookObject): HostHook =>
  defined({
    package: name,
    before,
    after,
    restore,
    timeoutSeconds,
  });

/** @throws FleetError REFERENCE_MISSING for a Debian package or program that this package does not bring; FIELD_INVALID */
const checkHooks = (
  hooks: InstallObject['hooks'],
  debs: ReadonlyMap<string, PlacedDeb>,
  files: readonly ResolvedFile[],
): void => {
  const paths = new Set(files.map(({ file }) => file.path));
  for (const { value, at } of hooks) {
    const { package: name, before, after, restore } = value;
    if (!debs.has(name))
      throw new FleetError('REFERENCE_MISSING', `a hook waits for ${name}, which is not in debs`, {
        at,
        hint: 'Name a Debian package of debs',
      });
    const programs = [before, after, restore].filter((path) => path !== undefined);
    const gone = programs.find((path) => !paths.has(path));
    if (gone !== undefined)
      throw new FleetError('REFERENCE_MISSING', `a hook of ${name} runs ${gone}, which is not in files`, {
        at,
        hint: 'Bring the program along under files',
      });
  }
};

type PlacedDeb = HostDeb & { readonly at: Place };

/** One version for each name, regardless of the architecture: a rollback must have one version to return to. */
const debsIn = (repository: string, files: readonly ResolvedFile[]): ReadonlyMap<string, PlacedDeb> => {
  const found = new Map<string, PlacedDeb>();
  for (const { file, deb, at } of files) {
    if (!deb || posix.dirname(file.path) !== repository) continue;
    const known = found.get(deb.name);
    if (known && known.version !== deb.version)
      throw new FleetError(
        'OBJECT_CLASH',
        `${deb.name} is there as ${known.version} (${formatPlace(known.at)}) and as ${deb.version}, and only one can be installed`,
        { at, hint: 'Keep one of the two' },
      );
    if (!known) found.set(deb.name, { ...deb, at });
  }
  return new Map([...found].toSorted(([a], [b]) => compareBytes(a, b)));
};
