import { isAbsolute, join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { combineSources, type Part } from '../platform/combine-sources.ts';
import { layerRole } from '../../model/images/layer-role.ts';
import type { LoadOptions } from '../platform/load-options.ts';
import type { Platform, SourceSnapshot } from '../../model/model.ts';
import { didYouMean } from '#bundles/nearest-name';
import type { ObjectOf, PlatformObject, RepositoryFolder } from '../objects/platform-object.ts';
import { findDirect } from './find-direct.ts';
import { readObjects } from '../objects/read-objects.ts';
import { collectProblems, type Problems } from '../../model/problems.ts';
import type { Location } from '../../model/location.ts';
import { cleanPath, type Source, type Sources } from '../sources/open-sources.ts';
import { isRepositoryUrl } from '../../model/repository-url.ts';
import { treeDigest } from '../sources/tree-digest.ts';

/**
 * Kinds that define where a Kalypso environment comes from, or that belong to the root: not allowed in base/ and
 * environments/.
 */
const ELSEWHERE: ReadonlySet<PlatformObject['kind']> = new Set([
  'Fleet',
  'ImagesLock',
  'Environment',
  'BaseRepo',
  'GitOpsRepo',
  'PromotionPolicy',
  'RolloutPolicy',
  'FreshnessPolicy',
]);

/**
 * Loads one environment of a platform in our form: base/ and environments/<name>/ of one directory. Mistakes are added to
 * `problems`.
 */
export const loadFleet = async (
  options: LoadOptions,
  sources: Sources,
  root: { readonly location: Location; readonly path: string; readonly fleet: ObjectOf<'Fleet'> },
  problems: Problems,
): Promise<Platform | undefined> => {
  const { location, path, fleet } = root;
  if (options.fleet !== undefined && options.fleet !== fleet.name) {
    throw new FleetError('USAGE', `the platform is fleet ${fleet.name}, not ${options.fleet}`, {
      at: fleet.at,
      hint: 'Leave the fleet out: fleet.yaml names it',
    });
  }
  if (!fleet.environments.includes(options.environment)) {
    throw new FleetError(
      'PLATFORM_INVALID',
      `the fleet has no environment ${JSON.stringify(options.environment)}`,
      {
        at: fleet.at,
        hint: `${didYouMean(options.environment, fleet.environments) ?? ''}It has ${fleet.environments.join(', ')}`,
      },
    );
  }
  const inEnvironment = `environments/${options.environment}/`;
  const source = await collectProblems(problems, () =>
    sources.read({
      role: 'platform',
      location,
      path,
      wanted: (name) =>
        /^(?:fleet|images\.lock)\.ya?ml$/.test(name) ||
        name.startsWith('base/') ||
        name.startsWith('crds/') ||
        name.startsWith(inEnvironment) ||
        isStray(name, fleet.environments),
    }),
  );
  if (!source) return undefined;
  refuseUnknownFolders(source, fleet, problems);
  const own = sources.apart
    ? await collectProblems(problems, () =>
        readLayer(sources, options.environment, location, path, inEnvironment),
      )
    : source;
  if (!own) return undefined;
  const part = (source: Source, from: Part['from'], folder: string): Part => {
    const files = source.files.filter((file) => file.path.startsWith(folder));
    const objects = readObjects({ ...source, files }, problems.found, 'refused');
    return {
      source,
      from,
      objects: objects.filter((object) => isAllowedHere(object, problems)),
      deliveryLabels: {},
    };
  };
  const layer = part(own, 'environment', inEnvironment);
  const entry = fleet.entries.find(({ name }) => name === options.environment);
  problems.found.push(...(entry ? findDirect(layer.objects, entry, options.isChained === true) : []));
  const parts = [part(source, 'base', 'base/'), layer];
  return await combineSources({
    form: 'fleet',
    fleet: fleet.name,
    environment: options.environment,
    chain: fleet.environments,
    parts,
    snapshots: layerSnapshots(source, own, options.environment, inEnvironment),
    replaces: true,
    holdWorkloads: options.holdWorkloads === true,
    sources,
    problems,
    imageLocks: options.imageLocks,
    imageIndexes: options.imageIndexes,
    contentLocks: options.contentLocks,
    renderers: options.renderers,
    imageAttachments: options.imageAttachments,
    locateWorkload: (folder) => workloadLocation(sources, location, path, folder),
    registrationLabels: () => ({}),
  });
};

/** Reads only the environment's folder, in its current state; base/ comes from an earlier one. */
const readLayer = (
  sources: Sources,
  environment: string,
  location: Location,
  path: string,
  folder: string,
): Promise<Source> =>
  sources.read({ role: layerRole(environment), location, path, wanted: (name) => name.startsWith(folder) });

/** Two snapshots of one repository: promotion keeps the one of base/ and takes the other from the new environment. */
const layerSnapshots = (
  base: Source,
  own: Source,
  environment: string,
  folder: string,
): readonly SourceSnapshot[] => {
  const isOwn = (file: { readonly path: string }): boolean => file.path.startsWith(folder);
  const path = join(cleanPath(own.snapshot.path), folder).replace(/\/$/, '');
  return [
    { ...base.snapshot, tree: treeDigest(base.files.filter((file) => !isOwn(file))) },
    { ...own.snapshot, role: layerRole(environment), path, tree: treeDigest(own.files.filter(isOwn)) },
  ];
};

/** A repository by URL, or a directory relative to the platform: on this machine, or in the platform's repository. */
const workloadLocation = (
  sources: Sources,
  platform: Location,
  platformPath: string,
  folder: RepositoryFolder,
): { location: Location; path: string } => {
  const { repo, revision, path } = folder;
  if (isRepositoryUrl(repo)) return { location: sources.locate(repo, revision), path };
  if (isAbsolute(repo)) {
    throw new FleetError('FIELD_INVALID', `the repository ${JSON.stringify(repo)} is an absolute path`, {
      hint: 'Write it relative to the platform, or as a file:// URL',
    });
  }
  if (platform.kind === 'git')
    return { location: platform, path: join(cleanPath(join(platformPath, repo)), cleanPath(path)) };
  return {
    location: {
      kind: 'directory',
      directory: join(platform.directory, platformPath, repo),
      shown: join(platform.shown, platformPath, repo),
    },
    path,
  };
};

const isStray = (name: string, environments: readonly string[]): boolean => {
  const [top, folder] = name.split('/');
  return top === 'environments' && folder !== undefined && !environments.includes(folder);
};

/** A folder of an environment that the chain does not name is probably misspelled, and would be ignored. */
const refuseUnknownFolders = (source: Source, fleet: ObjectOf<'Fleet'>, problems: Problems): void => {
  const strays = source.files.map((file) => file.path).filter((path) => isStray(path, fleet.environments));
  for (const folder of new Set(strays.map((path) => path.split('/')[1] as string))) {
    problems.found.push(
      new FleetError('REFERENCE_MISSING', `environments/${folder} is not an environment of the fleet`, {
        at: { file: `${source.prefix}environments/${folder}` },
        hint: `${didYouMean(folder, fleet.environments) ?? ''}Add ${folder} to fleet.yaml, or rename the folder: the fleet has ${fleet.environments.join(', ')}`,
      }),
    );
  }
};

const isAllowedHere = (object: PlatformObject, problems: Problems): boolean => {
  if (!ELSEWHERE.has(object.kind)) return true;
  problems.found.push(
    new FleetError('UNKNOWN_KIND', `a ${object.kind} has no meaning here`, {
      subject: `${object.kind} ${object.name}`,
      at: object.at,
      hint: object.kind.endsWith('Policy')
        ? 'Move it to the folder promotion/ beside fleet.yaml'
        : 'A platform with a fleet.yaml has its environments as folders',
    }),
  );
  return false;
};
