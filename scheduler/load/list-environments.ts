import type { PlatformOptions } from './platform/load-options.ts';
import { readRoot, type Root, sourcesOf } from './load-platform.ts';

/**
 * The platform's environments, in the order of the promotion chain if the form defines one, else by name.
 * @throws FleetError the single mistake, or PLATFORM_INVALID with several; SOURCE_UNREACHABLE, SOURCE_MISSING, USAGE
 */
export const listEnvironments = async (options: PlatformOptions): Promise<readonly string[]> => {
  const root = await readRoot(options.platform, options.sources ?? sourcesOf(options));
  return environmentsOf(root);
};

export const environmentsOf = (root: Root): readonly string[] =>
  root.form === 'fleet'
    ? root.fleet.environments
    : root.kalypso.environments.map((environment) => environment.name).toSorted();
