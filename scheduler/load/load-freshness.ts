import { newProblems, throwProblems } from '../model/problems.ts';
import type { FreshnessPolicy } from '../model/promotion.ts';
import { findRoot, sourcesOf } from './load-platform.ts';
import type { PlatformOptions } from './platform/load-options.ts';
import { loadPromotion } from './platform/load-promotion.ts';

/**
 * The freshness policies of a platform's newest state.
 * @throws FleetError the single mistake, or PLATFORM_INVALID with several; SOURCE_UNREACHABLE, SOURCE_MISSING, USAGE
 */
export const loadFreshness = async (options: PlatformOptions): Promise<readonly FreshnessPolicy[]> => {
  const problems = newProblems();
  const sources = options.sources ?? sourcesOf(options);
  const root = await findRoot(options.platform, sources, problems);
  const { freshnessPolicies } = await loadPromotion(sources, root, problems);
  throwProblems(problems.found, 'the policies in promotion/');
  return freshnessPolicies;
};
