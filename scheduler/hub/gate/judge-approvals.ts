import type { PromotionPolicy } from '../../model/promotion.ts';
import type { CountedApproval, Decisions } from './decisions.ts';
import { type Condition, holdingOf } from './verdict.ts';

/** The approvals that the policy counts: by its keys, and with `notAuthor` not by the person who asks for the promotion. */
export const countedApprovals = (
  { approvals }: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  asks: string | null,
): readonly CountedApproval[] =>
  approvals ? decisions.approvals.filter((approval) => whyNot(approvals, approval, asks) === undefined) : [];

/** n of m: one for each key, and one for each person. */
export const judgeApprovals = (
  policy: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  asks: string | null,
): Condition => {
  const { required = 0, from = [], notAuthor = false } = policy.approvals ?? {};
  const people = new Set(countedApprovals(policy, decisions, asks).map(({ person }) => person));
  const met = people.size >= required;
  const others = decisions.approvals.flatMap((approval) => {
    const why = policy.approvals && whyNot(policy.approvals, approval, asks);
    return why === undefined ? [] : [`${approval.person}: ${why}`];
  });
  const whose = from.length === 0 ? '' : ` by ${from.join(', ')}`;
  return {
    name: 'approvals',
    wanted: `${required}${whose}${notAuthor ? ', not by the person who promotes' : ''}`,
    found: people.size === 0 ? 'none' : `${people.size}: ${[...people].join(', ')}`,
    met,
    holding: holdingOf(others),
    earliest: null,
    changedBy: met ? [] : ['person'],
  };
};

const whyNot = (
  { from, notAuthor }: NonNullable<PromotionPolicy['approvals']>,
  { person, signer }: CountedApproval,
  asks: string | null,
): string | undefined => {
  if (from.length > 0 && !from.includes(signer)) return `the key ${signer} does not count here`;
  return notAuthor && person === asks ? 'asks for the promotion' : undefined;
};
