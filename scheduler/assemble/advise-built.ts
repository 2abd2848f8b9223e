import { adviseSites, type Enrolled, type SiteAdvice } from '../plan/validate/sites/advise-sites.ts';
import { layersOfPlatform } from '../plan/validate/sites/channel-layers.ts';
import type { EnvironmentBuild } from './environment-build.ts';

/**
 * Advice of adviseSites for an environment as it was built, before anything of it is signed. While an assignment without an earlier package is
 * held, its site inputs are unknown, and nothing is said about values that nobody takes.
 */
export const adviseBuilt = async (
  { platform, bundles }: Pick<EnvironmentBuild, 'platform' | 'bundles'>,
  enrolled: Enrolled | undefined,
): Promise<SiteAdvice> => {
  const configs = new Map(bundles.map(({ clusterType, bundle }) => [clusterType.name, [bundle.config]]));
  const advice = await adviseSites(layersOfPlatform(platform), configs, enrolled);
  const isWhole = bundles.every(({ held }) => held.every(({ kept }) => kept !== undefined));
  if (isWhole) return advice;
  return { findings: advice.findings.filter(({ kind }) => kind !== 'untaken'), idle: [] };
};
