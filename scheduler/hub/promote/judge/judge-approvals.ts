import { FleetError } from '#bundles/errors';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { CountedApproval, Decisions } from '../facts/decisions.ts';
import type { ApprovalKeys } from '../facts/facts.ts';
import { type Condition, holdingOf } from './verdict.ts';

type Wanted = NonNullable<PromotionPolicy['approvals']>;

/** The approvals that the policy counts, one for each key. */
export const countedApprovals = (
  { approvals }: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  keys: ApprovalKeys,
  asks: string | null,
): readonly CountedApproval[] =>
  approvals
    ? decisions.approvals.filter((approval) => whyNot(approvals, approval, keys, asks) === undefined)
    : [];

/** n of m, counted by keys, because names in approvals are chosen by their signers. */
export const judgeApprovals = (
  policy: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  keys: ApprovalKeys,
  asks: string | null,
): Condition => {
  const { required = 0, from = [], notAuthor = false } = policy.approvals ?? {};
  const counted = countedApprovals(policy, decisions, keys, asks);
  const met = counted.length >= required;
  const others = decisions.approvals.flatMap((approval) => {
    const why = policy.approvals && whyNot(policy.approvals, approval, keys, asks);
    return why === undefined ? [] : [`${approval.person}: ${why}`];
  });
  const whose = from.length === 0 ? '' : ` by ${from.map((key) => key.slice(0, 12)).join(', ')}`;
  return {
    name: 'approvals',
    wanted: `${required}${whose}${notAuthor ? ', not by the author' : ''}`,
    found:
      counted.length === 0 ? 'none' : `${counted.length}: ${counted.map(({ person }) => person).join(', ')}`,
    met,
    holding: holdingOf([...(policy.approvals ? tooFew(policy.approvals, keys) : []), ...others]),
    earliest: null,
    changedBy: met ? [] : ['person'],
  };
};

/** FIELD_INVALID if more approvals are required than keys of the root can give. */
export const whyNotApprovable = (
  policy: PromotionPolicy | undefined,
  keys: ApprovalKeys,
): FleetError | undefined => {
  const [why] = policy?.approvals ? tooFew(policy.approvals, keys) : [];
  if (policy === undefined || why === undefined) return undefined;
  return new FleetError('FIELD_INVALID', `${policy.approvals?.required} approvals are required, and ${why}`, {
    subject: `PromotionPolicy ${policy.name}`,
    at: policy.at,
    hint: 'Require fewer, or add keys of approvers to the bundle role of the root: fleet-scheduler root rotate',
  });
};

const tooFew = (wanted: Wanted, keys: ApprovalKeys): readonly string[] => {
  const able = keys.bundle.filter((key) => whyKeyNot(wanted, key, keys) === undefined);
  if (able.length >= wanted.required) return [];
  return [`only ${able.length} key${able.length === 1 ? '' : 's'} of the root's bundle role can approve`];
};

const whyNot = (
  wanted: Wanted,
  { person, signer }: CountedApproval,
  keys: ApprovalKeys,
  asks: string | null,
): string | undefined =>
  whyKeyNot(wanted, signer, keys) ??
  (wanted.notAuthor && person === asks ? 'asks for the promotion' : undefined);

const whyKeyNot = (
  { from, notAuthor }: Wanted,
  signer: string,
  { bundle, authors }: ApprovalKeys,
): string | undefined => {
  const print = printOf(signer);
  if (!bundle.includes(signer)) return `the root no longer has the key ${print.slice(0, 12)}`;
  if (from.length > 0 && !from.includes(print)) return `the key ${print.slice(0, 12)} does not count here`;
  return notAuthor && authors.includes(signer) ? `its key built the candidate` : undefined;
};

/** The fingerprint, as people compare it. */
const printOf = (hint: string): string => Buffer.from(hint, 'base64').toString('hex');
