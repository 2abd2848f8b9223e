import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { FreshnessPolicy } from '../../../model/promotion.ts';

/** By when the next medium is expected at an agent. An expectation from the policy's rhythm, not a promise of anybody. */
export type Visit = { readonly expectedBy: Timestamp; readonly isOverdue: boolean };

/**
 * The next visit at an agent that only media reach: one rhythm after its last report arrived, or after it was enrolled.
 * @returns undefined for an agent that was ever heard over the network, and without a rhythm
 */
export const nextVisit = (
  agent: { readonly heardAt: Timestamp | null; readonly enrolledAt: Timestamp; readonly online: boolean },
  policy: Pick<FreshnessPolicy, 'visitsSeconds'> | undefined,
  now: Date,
): Visit | undefined => {
  const seconds = policy?.visitsSeconds;
  if (agent.online || seconds === undefined) return undefined;
  const last = parseTime(agent.heardAt ?? agent.enrolledAt).getTime();
  const expected = new Date(last + seconds * 1000);
  return { expectedBy: formatTime(expected), isOverdue: expected < now };
};
