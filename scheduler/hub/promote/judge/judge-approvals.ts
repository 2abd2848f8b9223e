import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { CountedApproval, Decisions } from '../facts/decisions.ts';
import type { ApprovalKeys, Changes, GateFacts } from '../facts/facts.ts';
import { type ApprovedWorkspace, type Condition, holdingOf } from './verdict.ts';

type Wanted = NonNullable<PromotionPolicy['approvals']>;
type Facts = Pick<GateFacts, 'keys' | 'changes'>;

const NOT_READ: Changes = { kind: 'unknown', why: 'it was not looked up' };

/** The approvals that the policy counts, one for each key. */
export const countedApprovals = (
  { approvals }: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  facts: Facts,
  asks: string | null,
): readonly CountedApproval[] =>
  approvals
    ? decisions.approvals.filter((approval) => whyNotCounted(approvals, approval, facts, asks) === undefined)
    : [];

/**
 * n of m, counted by keys, because names in approvals are chosen by their signers. An approval that is limited to workspaces counts
 * for the candidate only if these are all that the candidate changes; where the policy asks by workspace, for each of its own.
 */
export const judgeApprovals = (
  policy: Pick<PromotionPolicy, 'approvals'>,
  decisions: Decisions,
  facts: Facts,
  asks: string | null,
): Condition => {
  const { required = 0, from = [], notAuthor = false, eachWorkspace } = policy.approvals ?? {};
  const counted = countedApprovals(policy, decisions, facts, asks);
  const unlimited = counted.filter(({ workspaces }) => workspaces === undefined).length;
  const parts = eachWorkspace ? workspaceParts(required, counted, facts.changes) : undefined;
  // Unlimited approvals are for whatever changes, so they are enough where the changes are not known.
  const met = parts
    ? unlimited >= required || (isOwned(facts.changes) && parts.every(({ found }) => found >= required))
    : counted.length >= required;
  const progress = progressOf(required, counted, parts);
  const others = decisions.approvals.flatMap((approval) => {
    const why = policy.approvals && whyNotCounted(policy.approvals, approval, facts, asks);
    return why === undefined ? [] : [`${approval.person}: ${why}`];
  });
  const whose = from.length === 0 ? '' : ` by ${from.map((key) => key.slice(0, 12)).join(', ')}`;
  const each = eachWorkspace ? ' for each workspace that it changes' : '';
  const waiting = parts && !met ? [...waitingParts(parts), ...waitingWhole(required, unlimited, facts)] : [];
  return {
    name: 'approvals',
    wanted: `${required}${each}${whose}${notAuthor ? ', not by the author' : ''}`,
    found: [
      counted.length === 0
        ? 'none'
        : `${counted.length} by ${counted.map(({ person }) => person).join(', ')}`,
      ...(parts && parts.length > 0
        ? [`${progress.found} of ${formatCount(parts.length, 'workspace')}`]
        : []),
    ].join('; '),
    progress,
    met,
    holding: holdingOf([
      ...(policy.approvals ? tooFew(policy.approvals, facts.keys) : []),
      ...waiting,
      ...others,
    ]),
    earliest: null,
    changedBy: met ? [] : ['person'],
    ...defined({ workspaces: parts }),
  };
};

/** Workspaces that have enough approvals, where the policy asks by workspace and these are known; otherwise approvals. */
const progressOf = (
  required: number,
  counted: readonly CountedApproval[],
  parts: readonly ApprovedWorkspace[] = [],
): NonNullable<Condition['progress']> =>
  parts.length > 0
    ? { found: parts.filter(({ found }) => found >= required).length, wanted: parts.length }
    : { found: counted.length, wanted: required };

/** Whether everything that changes belongs to workspaces, and something does. */
const isOwned = (changes: Changes | undefined): boolean =>
  changes?.kind === 'known' && changes.workspaces.length > 0 && changes.others.length === 0;

const workspaceParts = (
  wanted: number,
  counted: readonly CountedApproval[],
  changes: Changes | undefined,
): readonly ApprovedWorkspace[] =>
  changes?.kind === 'known'
    ? changes.workspaces.map((workspace) => ({
        workspace,
        wanted,
        found: counted.filter(({ workspaces }) => workspaces === undefined || workspaces.includes(workspace))
          .length,
      }))
    : [];

const waitingParts = (parts: readonly ApprovedWorkspace[]): readonly string[] =>
  parts.flatMap(({ workspace, wanted, found }) =>
    found >= wanted ? [] : [`${workspace}: waits for ${formatCount(wanted - found, 'approval')}`],
  );

/** Why approvals by workspace are not enough. */
const waitingWhole = (
  required: number,
  unlimited: number,
  { changes = NOT_READ }: Facts,
): readonly string[] => {
  if (isOwned(changes)) return [];
  return [
    `${whyNotOwned(changes)}; waits for ${formatCount(required - unlimited, 'approval')} of everything`,
  ];
};

/** FIELD_INVALID if more approvals are required than keys of the root can give. */
export const whyNotApprovable = (
  policy: PromotionPolicy | undefined,
  keys: ApprovalKeys,
): FleetError | undefined => {
  const [why] = policy?.approvals ? tooFew(policy.approvals, keys) : [];
  if (policy === undefined || why === undefined) return undefined;
  const asked = formatCount(policy.approvals?.required ?? 0, 'approval');
  return new FleetError('FIELD_INVALID', `it asks for ${asked}, and ${why}`, {
    subject: `PromotionPolicy ${policy.name}`,
    at: policy.at,
    hint: 'Require fewer, or add keys of approvers to the bundle role of the root: fleet-scheduler root rotate',
  });
};

const tooFew = (wanted: Wanted, keys: ApprovalKeys): readonly string[] => {
  const able = keys.bundle.filter((key) => whyKeyNot(wanted, key, keys) === undefined);
  if (able.length >= wanted.required) return [];
  return [`only ${formatCount(able.length, 'key')} of the root's bundle role can approve`];
};

const whyNotCounted = (
  wanted: Wanted,
  { person, signer, workspaces }: CountedApproval,
  { keys, changes }: Facts,
  asks: string | null,
): string | undefined =>
  whyKeyNot(wanted, signer, keys) ??
  (wanted.notAuthor && person === asks ? 'is the person who asks' : undefined) ??
  (workspaces && whyLimited(wanted, workspaces, changes));

/** Why an approval that is limited to these workspaces does not count; undefined: it counts. */
const whyLimited = (
  { eachWorkspace }: Wanted,
  own: readonly string[],
  changes: Changes = NOT_READ,
): string | undefined => {
  const only = `approves only ${nameSome(own)}`;
  if (changes.kind === 'unknown')
    return `${only}, and what the candidate changes is not known: ${changes.why}`;
  if (!changes.workspaces.some((workspace) => own.includes(workspace)))
    return `${only}, and the candidate changes nothing of it`;
  if (eachWorkspace) return undefined;
  const beyond = changesOutside(changes, own);
  return beyond.length === 0 ? undefined : `${only}, and the candidate changes ${nameSome(beyond)}, too`;
};

/** Workspaces and other things that a candidate changes outside of these workspaces, in words. */
export const changesOutside = (
  { workspaces, others }: Extract<Changes, { kind: 'known' }>,
  own: readonly string[],
): readonly string[] => [...workspaces.filter((workspace) => !own.includes(workspace)), ...others];

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

const whyNotOwned = (changes: NonNullable<Facts['changes']>): string => {
  if (changes.kind === 'unknown') return `what it changes is not known: ${changes.why}`;
  return changes.others.length > 0
    ? `it changes what no workspace owns: ${nameSome(changes.others)}`
    : 'it changes nothing of any workspace';
};
