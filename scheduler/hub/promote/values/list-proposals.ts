import type { ValuesProposals } from '#bundles/schemas/types/hub-decisions';
import type { Hub } from '../../hub.ts';
import type { KnownNeeds } from '../../sites/read-needs.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';
import { showChange } from './describe-values.ts';
import { type JudgedProposal, judgeProposal } from './judge-proposal.ts';
import { type Proposal, readProposals } from './propose-values.ts';
import { type ReachedEditors, reachedEditors } from './reached-editors.ts';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { mayChange, mayEverywhere, seesValues } from './values-access.ts';

/** The rights of a caller about a proposal. */
export type ProposalRights = {
  readonly sees: boolean;
  /** It may change all of its values, reject in all environments of its sites, or has made the proposal. */
  readonly mayReject: boolean;
};

type Caller = { readonly allowances: readonly Allowance[]; readonly person: string };

export const rightsOver = async (
  hub: Hub,
  { row, proposed }: Proposal,
  caller: Caller,
): Promise<ProposalRights> => {
  const [editors = []] = await reachedEditors(hub, [proposed.changes]);
  return judgeRights(editors, row.person, caller);
};

const judgeRights = (
  editors: readonly ReachedEditors[],
  author: string,
  { allowances, person }: Caller,
): ProposalRights => {
  const agents = editors.flatMap((one) => one.agents);
  const ownsAll = editors.every(({ place, roles, agents: own }) =>
    mayChange(allowances, { site: place.site, agents: own }, roles),
  );
  const isAuthor = person === author;
  const decides = (['approve', 'reject'] as const).some((verb) => mayEverywhere(allowances, verb, agents));
  return {
    sees:
      isAuthor ||
      ownsAll ||
      decides ||
      (agents.length > 0 && agents.every((agent) => seesValues(allowances, agent))),
    mayReject: isAuthor || ownsAll || mayEverywhere(allowances, 'reject', agents),
  };
};

type ListedProposal = ValuesProposals['proposals'][number];

/** The waiting proposals that a caller sees, oldest first. */
export const listProposals = async (
  hub: Hub,
  caller: Caller,
  review: ValuesReview | undefined,
): Promise<readonly ListedProposal[]> => {
  const listed: ListedProposal[] = [];
  const known: KnownNeeds = new Map();
  const proposals = await readProposals(hub.store.db, 'waiting');
  const editors = await reachedEditors(
    hub,
    proposals.map(({ proposed }) => proposed.changes),
    known,
  );
  const isHidden = await readHiddenIn(hub, known);
  for (const [at, proposal] of proposals.entries()) {
    const { sees, mayReject } = judgeRights(editors[at] ?? [], proposal.row.person, caller);
    if (sees) listed.push(describeProposal(await judgeProposal(hub, proposal, review), mayReject, isHidden));
  }
  return listed;
};

const describeProposal = (
  { row, proposed, conditions, approvals }: JudgedProposal,
  rejectable: boolean,
  isHidden: IsHidden,
): ListedProposal => {
  return {
    id: row.id,
    person: row.person,
    reason: proposed.reason,
    at: row.at,
    rejectable,
    changes: proposed.changes.map((one) => ({ site: one.site, ...showChange(one, isHidden) })),
    conditions: conditions.map(({ name, met, found, wanted, holding }) => ({
      name,
      met,
      found,
      wanted,
      holding: holding.first,
    })),
    approvals: approvals.map(({ person, at }) => ({ person, at })),
  };
};
