import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { Decisions } from '../facts/decisions.ts';
import type { GateFacts } from '../facts/facts.ts';
import { judgeArrival } from './judge-arrival.ts';

/** Commit status of a candidate in an environment, shown at its source commits. */
export type Progress = { readonly state: 'pending' | 'success' | 'failure'; readonly description: string };

/** The worst counts where an environment holds several candidates. */
const ORDER = ['success', 'pending', 'failure'] as const satisfies readonly Progress['state'][];

/**
 * Judges a candidate that an environment has released, by the rules of `wait`. Sites and their messages are not named: readers
 * of a repository may not know them.
 * @param policy of the link from this environment on
 * @returns undefined if another candidate was promoted after it: the last status stays
 */
export const judgeProgress = (
  policy: PromotionPolicy | undefined,
  facts: GateFacts,
  { decisions, now }: { readonly decisions: Decisions; readonly now: Date },
): Progress | undefined => {
  const { from: environment } = facts;
  if (decisions.rejected !== undefined)
    return { state: 'failure', description: `${environment}: ${decisions.rejected}` };
  if (decisions.promoted === 'before') return undefined;
  const { state, conditions } = judgeArrival(policy, facts, { decisions, wasThere: false, now });
  if (state === 'complies') return { state: 'success', description: `${environment} complies` };
  const failures = conditions.find(({ name, met }) => name === 'failures' && !met);
  if (failures)
    return { state: 'failure', description: `${environment}: agents report failures: ${failures.found}` };
  return { state: 'pending', description: `Released in ${environment}, which does not comply yet` };
};

export const worseProgress = (one: Progress, other: Progress): Progress =>
  ORDER.indexOf(other.state) > ORDER.indexOf(one.state) ? other : one;
