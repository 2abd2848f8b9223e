import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import type { HostDeb, HostHook, HostInstall } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import { FleetError, formatPlace, type Place } from '#bundles/errors';
import type { ResolvedFile } from '../../content/check-host-paths.ts';
import type { HostPackageObject } from '../../content/host-package-object.ts';
import type { HookObject, InstallObject } from '../../content/install-object.ts';
import { debianArchitectures } from '../../content/debs/debian-architecture.ts';
import { contentHome } from '../../content/place-contents.ts';

/** `install` of package.json, and the place that requests it. */
export type ResolvedInstall = { readonly install: HostInstall; readonly at: Place };

/**
 * Resolves the one `install` of a package against the Debian packages of its repository; undefined without one.
 * @throws FleetError OBJECT_CLASH for a second one, and for a Debian package at two versions; REFERENCE_MISSING, also for
 * one that is not there for a platform of the hosts
 */
export const resolveInstall = (
  objects: readonly HostPackageObject[],
  files: readonly ResolvedFile[],
  { id, platforms }: { readonly id: string; readonly platforms: readonly string[] },
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
  for (const deb of debs.values())
    if (named.size === 0 || named.has(deb.name)) checkArchitectures(deb, platforms, id);
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

type PlacedDeb = HostDeb & { readonly architectures: readonly string[]; readonly at: Place };

const checkArchitectures = (
  { name, architectures, at }: PlacedDeb,
  platforms: readonly string[],
  id: string,
): void => {
  if (architectures.includes('all')) return;
  const absent = platforms.find(
    (platform) => !debianArchitectures(platform).some((one) => architectures.includes(one)),
  );
  if (absent === undefined) return;
  throw new FleetError(
    'REFERENCE_MISSING',
    `${id} has ${name} for ${architectures.join(' and ')}, and not for ${absent}, a platform of its hosts`,
    {
      at,
      hint: `Bring ${name} for ${debianArchitectures(absent).join(' or ')} along in debs too, or take the platform out of the cluster type`,
    },
  );
};

/** One version for each name, regardless of the architecture: a rollback must have one version to return to. */
const debsIn = (repository: string, files: readonly ResolvedFile[]): ReadonlyMap<string, PlacedDeb> => {
  const found = new Map<string, PlacedDeb>();
  for (const { file, deb, at } of files) {
    if (!deb || posix.dirname(file.path) !== repository) continue;
    const { name, version, architecture } = deb;
    const known = found.get(name);
    if (known && known.version !== version)
      throw new FleetError(
        'OBJECT_CLASH',
        `${name} is there as ${known.version} (${formatPlace(known.at)}) and as ${version}, and only one can be installed`,
        { at, hint: 'Keep one of the two' },
      );
    found.set(name, {
      name,
      version,
      at: known?.at ?? at,
      architectures: [...(known?.architectures ?? []), architecture].toSorted(compareBytes),
    });
  }
  return new Map([...found].toSorted(([a], [b]) => compareBytes(a, b)));
};
