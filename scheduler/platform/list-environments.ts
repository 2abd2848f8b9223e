import type { PlatformOptions } from './load-options.ts';
import { findRoot, type Root, sourcesOf } from './load-platform.ts';
import { newProblems, throwProblems } from './problems.ts';

/**
 * The platform's environments: in the order of the promotion chain where the form says it, else by name.
 * @throws FleetError as `loadPlatform`
 */
export const listEnvironments = async (options: PlatformOptions): Promise<readonly string[]> => {
  const problems = newProblems();
  const root = await findRoot(options.platform, options.sources ?? sourcesOf(options), problems);
  throwProblems(problems.found, 'the platform');
  return environmentsOf(root);
};

export const environmentsOf = (root: Root): readonly string[] =>
  root.form === 'fleet'
    ? root.fleet.environments
    : root.kalypso.environments.map((environment) => environment.name).toSorted();
