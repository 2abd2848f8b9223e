import type { Channel } from '#bundles/names';
import { parseTime, type Timestamp } from '#bundles/time';
import type { FreshnessPolicy } from '../../../model/promotion.ts';

/** Age class of an agent's last report: `late` is still expected, `stale` no longer counts, `unknown` never reported. */
export const FRESHNESS = ['fresh', 'late', 'stale', 'unknown'] as const;
export type Freshness = (typeof FRESHNESS)[number];

/** Where the freshness policies come from. */
export type FreshnessPolicies = {
  readonly from: 'platform' | 'hub' | 'none';
  readonly policies: readonly FreshnessPolicy[];
};

export const NO_AGEING: FreshnessPolicies = { from: 'none', policies: [] };

/**
 * Judges the age of an agent's last word. Without a policy words do not age: nothing is assumed about how often a medium visits a
 * site. @param lastHeard the time that the word describes (AgentRow.said_at); null: none
 */
export const freshnessOf = (
  lastHeard: Timestamp | null,
  policy: Pick<FreshnessPolicy, 'lateSeconds' | 'staleSeconds'> | undefined,
  now: Date,
): Freshness => {
  if (lastHeard === null) return 'unknown';
  if (policy === undefined) return 'fresh';
  const seconds = (now.getTime() - parseTime(lastHeard).getTime()) / 1000;
  if (seconds > policy.staleSeconds) return 'stale';
  return seconds > policy.lateSeconds ? 'late' : 'fresh';
};

/** The policy of a channel: one that names its cluster type goes before one for the whole environment. */
export const freshnessPolicyFor = (
  policies: readonly FreshnessPolicy[],
  { environment, clusterType }: Channel,
): FreshnessPolicy | undefined => {
  const fitting = policies.filter((policy) => policy.environment === environment);
  return (
    fitting.find(({ clusterTypes }) => clusterTypes.includes(clusterType)) ??
    fitting.find(({ clusterTypes }) => clusterTypes.length === 0)
  );
};
