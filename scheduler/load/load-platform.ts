import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { findFleet, type PlatformRoot } from './platform/find-fleet.ts';
import { loadFleet } from './fleet/load-fleet.ts';
import { findEnvironments, type KalypsoRoot } from './kalypso/find-environments.ts';
import { checkExpressions } from './platform/check-expressions.ts';
import { withKustomizations } from './kalypso/kustomized-sources.ts';
import { loadKalypso } from './kalypso/load-kalypso.ts';
import type { LoadPlatformOptions, PlatformOptions } from './platform/load-options.ts';
import type { Platform } from '../model/model.ts';
import type { ObjectOf } from './objects/platform-object.ts';
import { createProblems, type Problems, throwProblems } from '../model/problems.ts';
import { type Location, parsePlatform } from '../model/location.ts';
import { openSources, type Sources } from './sources/open-sources.ts';

/** The platform's form, determined by the files at its root. */
export type Root =
  | ({ readonly form: 'fleet'; readonly fleet: ObjectOf<'Fleet'> } & Here)
  | ({ readonly form: 'kalypso'; readonly kalypso: KalypsoRoot } & Here);

type Here = {
  readonly location: Location;
  readonly path: string;
  readonly imageLocks: ReadonlyMap<string, string>;
} & Pick<
  PlatformRoot,
  'imageIndexes' | 'imagePlatforms' | 'imageAttachments' | 'take' | 'contentLocks' | 'renderers'
>;

/**
 * Loads one environment of a platform, with the applications' repositories, in one snapshot.
 * @throws FleetError the single mistake, or PLATFORM_INVALID with several (see `problemsOf`); SOURCE_UNREACHABLE,
 * SOURCE_MISSING, USAGE
 */
export const loadPlatform = async (options: LoadPlatformOptions): Promise<Platform> => {
  const problems = createProblems();
  const sources = options.sources ?? sourcesOf(options);
  if (options.fleet !== undefined) parseName(options.fleet, 'fleet');
  const root = await findRoot(options.platform, sources, problems);
  const { imageLocks, imageIndexes, imageAttachments, contentLocks, renderers } = root;
  const loading = { ...options, imageLocks, imageIndexes, imageAttachments, contentLocks, renderers };
  const platform =
    root.form === 'fleet'
      ? await loadFleet(loading, sources, root, problems)
      : await loadKalypso(loading, withKustomizations(sources), root.kalypso, problems);
  await checkExpressions(platform?.clusterTypes ?? [], problems);
  throwProblems(problems.found, `environment ${options.environment}`);
  if (!platform) throw new FleetError('INTERNAL', 'the platform was not loaded, and no problem was reported');
  const remarks = sources.remarks?.() ?? [];
  return remarks.length === 0 ? platform : { ...platform, advice: [...(platform.advice ?? []), ...remarks] };
};

/**
 * The root of a platform without mistakes.
 * @throws FleetError the single mistake, or PLATFORM_INVALID with several; SOURCE_UNREACHABLE, SOURCE_MISSING, USAGE
 */
export const readRoot = async (platform: string, sources: Sources, what = 'the platform'): Promise<Root> => {
  const problems = createProblems();
  const root = await findRoot(platform, sources, problems);
  throwProblems(problems.found, what);
  return root;
};

/** @throws FleetError PLATFORM_INVALID for a platform of neither form */
export const findRoot = async (platform: string, sources: Sources, problems: Problems): Promise<Root> => {
  const { location, path } = parsePlatform(platform);
  const { fleet, ...locks } = await findFleet(sources, location, path, problems);
  if (fleet) return { form: 'fleet', location, path, fleet, ...locks };
  const kalypso = await findEnvironments(withKustomizations(sources), location, path, problems);
  if (kalypso.environments.length > 0) return { form: 'kalypso', location, path, kalypso, ...locks };
  throwProblems(problems.found, 'the platform');
  const shown = location.kind === 'git' ? kalypso.source.snapshot.repo : location.shown;
  throw new FleetError('PLATFORM_INVALID', `${shown} is not a platform`, {
    subject: shown,
    hint: 'It needs a fleet.yaml, or Kalypso’s Environment objects in .environments/',
  });
};

export const sourcesOf = (options: PlatformOptions): Sources =>
  openSources({
    maps: options.maps,
    cacheDirectory: options.cacheDirectory,
    env: options.env ?? process.env,
    signal: options.signal,
    staleOk: options.staleOk,
    files: options.files,
    parsed: options.parsed,
  });
