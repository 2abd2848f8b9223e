import type { FleetError } from '#bundles/errors';
import { buildEnvironment } from '../build-environment.ts';
import { environmentsOf } from './list-environments.ts';
import type { PlatformOptions } from './load-options.ts';
import { findRoot, loadPlatform, sourcesOf } from './load-platform.ts';
import { eachOnce, newProblems, problemsOf } from './problems.ts';

export type Validation = {
  readonly environments: readonly string[];
  /** What has to be repaired, each once, in the order found. */
  readonly problems: readonly FleetError[];
  /** What may be meant as it is. */
  readonly advice: readonly FleetError[];
};

/**
 * Every problem of a platform in all its environments, or in those named: of its YAML, its repositories, its policies,
 * its templates, its configuration and the applications' own files. Makes every bundle and writes nothing; only images
 * are not looked for.
 * @throws FleetError only where the platform itself cannot be read
 */
export const validatePlatform = async (
  options: PlatformOptions & { readonly environments?: readonly string[]; readonly fleet?: string },
): Promise<Validation> => {
  const sources = options.sources ?? sourcesOf(options);
  const found = newProblems();
  const advice: FleetError[] = [];
  const root = await findRoot(options.platform, sources, found);
  const environments = options.environments ?? environmentsOf(root);
  for (const environment of environments) {
    try {
      const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
      found.found.push(...(platform.heldWorkloads ?? []).flatMap((workload) => workload.errors));
      const built = await buildEnvironment(
        { platform, sources, images: 'unchecked', previous: undefined, workers: 1 },
        options.signal ?? NEVER,
      );
      found.found.push(...built.bundles.flatMap(({ held }) => held.map(({ error }) => error)));
      advice.push(...built.advice);
    } catch (error) {
      const problems = problemsOf(error);
      if (problems.some((problem) => problem.code === 'ABORTED' || problem.code === 'INTERNAL')) throw error;
      found.found.push(...problems);
    }
  }
  return { environments, problems: eachOnce(found.found), advice: eachOnce(advice) };
};

const NEVER = new AbortController().signal;
