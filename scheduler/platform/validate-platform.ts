import { type FleetError, formatError } from '#bundles/errors';
import { renderPlatform } from '../render/render-platform.ts';
import { schedulePlatform } from '../schedule/schedule-platform.ts';
import { environmentsOf } from './list-environments.ts';
import { findRoot, loadPlatform, type PlatformOptions, sourcesOf } from './load-platform.ts';
import { newProblems, problemsOf } from './problems.ts';

export type Validation = {
  readonly environments: readonly string[];
  /** What has to be repaired, each once, in the order found. */
  readonly problems: readonly FleetError[];
  /** What may be meant as it is. */
  readonly advice: readonly FleetError[];
};

/**
 * Every problem of a platform in all its environments, or in those named: of its YAML, its repositories, its policies,
 * its templates and its configuration. Renders everything, writes nothing.
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
      const schedule = schedulePlatform(platform);
      const { held } = renderPlatform(platform, schedule);
      found.found.push(...held.map((one) => one.error));
      advice.push(...schedule.advice);
    } catch (error) {
      const problems = problemsOf(error);
      if (problems.some((problem) => problem.code === 'ABORTED' || problem.code === 'INTERNAL')) throw error;
      found.found.push(...problems);
    }
  }
  return { environments, problems: eachOnce(found.found), advice: eachOnce(advice) };
};

/** What base/ has wrong is found in every environment, and one template's mistake in every assignment. */
const eachOnce = (errors: readonly FleetError[]): readonly FleetError[] => [
  ...new Map(errors.map((error) => [formatError(error), error])).values(),
];
