import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { readRoot, sourcesOf } from '../../../load/load-platform.ts';
import { loadPromotion } from '../../../load/platform/load-promotion.ts';
import type { PlatformOptions } from '../../../load/platform/load-options.ts';
import type { Sources } from '../../../load/sources/open-sources.ts';
import { createProblems, throwProblems } from '../../../model/problems.ts';
import type { FreshnessPolicy, Promotion, PromotionPolicy } from '../../../model/promotion.ts';

/** A link of the chain: candidates go from one environment to the next under a policy, or without one. */
export type Link = {
  readonly from: string;
  readonly to: string;
  readonly policy: PromotionPolicy | undefined;
  /** The environment before the earlier one in the chain; undefined: the earlier one is built from the newest state. */
  readonly before?: string | undefined;
  /** Freshness policies of the earlier environment, for the rhythm of its media. */
  readonly freshness?: readonly FreshnessPolicy[];
};

/** The chain and the policies, from the newest snapshot of the platform. @throws FleetError the platform's first problem */
export const readPromotion = async (
  options: PlatformOptions,
  sources: Sources = sourcesOf(options),
): Promise<Promotion> => {
  const root = await readRoot(options.platform, sources);
  const problems = createProblems();
  const promotion = await loadPromotion(sources, root, problems);
  throwProblems(problems.found, 'promotion/');
  return promotion;
};

/** Every link of a chain, in the order of the environments. */
export const linksOf = ({ environments, promotionPolicies, freshnessPolicies }: Promotion): readonly Link[] =>
  environments.flatMap(({ name: to, promotedFrom: from }) =>
    from === undefined
      ? []
      : [
          {
            from,
            to,
            before: environments.find(({ name }) => name === from)?.promotedFrom,
            policy: promotionPolicies.find((policy) => policy.from === from && policy.to === to),
            freshness: freshnessPolicies.filter(({ environment }) => environment === from),
          },
        ],
  );

/** The link to an environment. @throws FleetError USAGE if there is no such environment, or nothing is promoted to it */
export const linkTo = (promotion: Promotion, to: string): Link => {
  const found = linksOf(promotion).find((link) => link.to === to);
  if (found) return found;
  checkEnvironment(promotion, to);
  throw new FleetError('USAGE', `nothing is promoted to ${to}: it is built from the newest state`, {
    hint: `Write promotedFrom at ${to} in fleet.yaml to chain it`,
  });
};

/** @throws FleetError USAGE if the fleet has no such environment */
export const checkEnvironment = ({ environments }: Promotion, environment: string): void => {
  const names = environments.map(({ name }) => name);
  if (names.includes(environment)) return;
  throw new FleetError('USAGE', `the fleet has no environment ${environment}`, {
    hint: `${didYouMean(environment, names) ?? ''}It has ${names.join(', ')}`,
  });
};

/** A hint for an environment that has no release yet. @param before what it is promoted from; undefined: nothing */
export const howToRelease = (environment: string, before: string | undefined): string =>
  before === undefined
    ? `Build it with: fleet-scheduler build --environment ${environment}`
    : `Promote a candidate from ${before} to it, and build it, with: fleet-scheduler promote ${environment} --build`;
