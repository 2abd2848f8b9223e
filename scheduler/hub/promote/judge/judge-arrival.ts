import type { PromotionPolicy } from '../../../model/promotion.ts';
import { countAgents } from './count-agents.ts';
import type { Decisions } from '../facts/decisions.ts';
import type { GateFacts } from '../facts/facts.ts';
import { judgeAgents } from './judge-agents.ts';
import type { Condition } from './verdict.ts';

/** Whether an environment complies with a candidate: now, not yet, or never again without a new decision. */
export type Arrival = {
  readonly state: 'complies' | 'waiting' | 'cannot';
  /** Why it cannot; null otherwise. */
  readonly why: string | null;
  readonly conditions: readonly Condition[];
};

/** Policy for an environment at the end of the chain: every enrolled agent counts. */
const EVERYONE = { percent: 100, of: 'enrolled', require: [] } as const;

/**
 * Judges `wait`: the share of agents that the policy of the next link wants, without its soak, approvals, times and checks.
 * @param policy of the link from this environment on
 * @param wasThere an earlier release of the environment was made from the candidate, or it gave the bundle of one again
 */
export const judgeArrival = (
  policy: PromotionPolicy | undefined,
  facts: GateFacts,
  {
    decisions,
    wasThere,
    now,
  }: { readonly decisions: Decisions; readonly wasThere: boolean; readonly now: Date },
): Arrival => {
  const share = {
    ...(policy ?? NO_POLICY),
    compliance: policy?.compliance ?? EVERYONE,
    soakSeconds: 0,
  };
  const conditions = judgeAgents(share, facts, countAgents(share, facts.agents, now), now);
  const isPresent = facts.channels.length > 0 && facts.channels.every(({ since }) => since !== null);
  if (decisions.rejected !== undefined)
    return { state: 'cannot', why: `it was ${decisions.rejected}`, conditions };
  if (decisions.promoted === 'before' || (wasThere && facts.channels.every(({ since }) => since === null)))
    return { state: 'cannot', why: 'another candidate replaced it', conditions };
  const complies = isPresent && conditions.every(({ met }) => met);
  return { state: complies ? 'complies' : 'waiting', why: null, conditions };
};

const NO_POLICY: PromotionPolicy = {
  name: '',
  from: '',
  to: '',
  mode: 'manual',
  soakSeconds: 0,
  windows: [],
  freeze: [],
  checks: [],
  direct: 'allow',
  at: { file: '' },
};
