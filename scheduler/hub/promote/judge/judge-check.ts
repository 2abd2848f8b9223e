import { formatTime } from '#bundles/time';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { CheckFacts } from '../checks/check-records.ts';
import { formatSeconds } from '../../../model/format-seconds.ts';
import { type Condition, NO_HOLDING, type Verdict } from './verdict.ts';

/** An external check must have passed this very candidate. Anything else than a signed `passed` holds the gate. */
export const judgeCheck = (
  { name, url, timeoutSeconds }: PromotionPolicy['checks'][number],
  facts: CheckFacts = { state: 'unasked' },
  now: Date,
): Condition => {
  const met = facts.state === 'passed';
  return {
    name: `check ${name}`,
    wanted: `${new URL(url).host} says that it passed, within ${formatSeconds(timeoutSeconds)}`,
    found: describeCheck(facts, timeoutSeconds, now),
    met,
    holding: NO_HOLDING,
    earliest: null,
    changedBy: met ? [] : ['check'],
  };
};

const describeCheck = (facts: CheckFacts, timeoutSeconds: number, now: Date): string => {
  switch (facts.state) {
    case 'unasked':
      return 'not asked yet';
    case 'asked': {
      const until = new Date(new Date(facts.at).getTime() + timeoutSeconds * 1000);
      return until > now
        ? `asked at ${facts.at}, no answer yet`
        : `asked at ${facts.at}, no answer until ${formatTime(until)}: timed out`;
    }
    case 'passed':
    case 'failed':
    case 'unreachable':
    case 'invalid':
      return `${facts.state} at ${facts.at}${facts.message === '' ? '' : `: ${facts.message}`}`;
  }
};

/** Conditions that a check need not wait for: people and the clock meet them. */
const PREREQUISITES = new Set(['soak', 'approvals', 'window', 'freeze']);

/**
 * True once the earlier environment runs the candidate as the policy requires. Checks that are asked earlier would test the
 * previous candidate.
 */
export const isDueForCheck = ({ state, conditions }: Verdict): boolean =>
  state === 'waiting' &&
  conditions.every(({ name, met }) => met || PREREQUISITES.has(name) || name.startsWith('check '));
