import { formatChannel } from '#bundles/names';
import type { ValuesProposals } from '#bundles/schemas/types/hub-decisions';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { KnownNeeds } from '../../sites/check-values.ts';
import { readChannelLayers } from '../../sites/layers/read-channel-layers.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';
import { hiddenNames, showChange } from './describe-values.ts';
import { type JudgedProposal, judgeProposal } from './judge-proposal.ts';
import { type Proposal, readProposals } from './propose-values.ts';
import { editorsOf } from './rules-for.ts';
import { mayChange, mayEverywhere, seesValues, toValuesAgent } from './values-access.ts';

/** The rights of a caller about a proposal. */
export type ProposalRights = {
  readonly sees: boolean;
  /** It may change all of its values, reject in all environments of its sites, or has made the proposal. */
  readonly mayReject: boolean;
};

/** @param known site inputs of channels, read for other proposals */
export const rightsOver = async (
  hub: Hub,
  { row, proposed }: Proposal,
  { allowances, person }: { readonly allowances: readonly Allowance[]; readonly person: string },
  known: KnownNeeds = new Map(),
): Promise<ProposalRights> => {
  const editors = await editorsOf(hub, proposed.changes, known);
  const rows = editors.flatMap(({ agents }) => agents);
  const channels = new Map(rows.map((one) => [formatChannel(channelOf(one)), channelOf(one)]));
  const { layers } = await readChannelLayers(hub, [...channels.values()]);
  const agents = rows.map((one) => toValuesAgent(one, layers));
  const ownsAll = editors.every(({ place, roles, agents: own }) =>
    mayChange(allowances, { site: place.site, agents: own.map((one) => toValuesAgent(one, layers)) }, roles),
  );
  const isAuthor = person === row.person;
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
  caller: { readonly allowances: readonly Allowance[]; readonly person: string },
  review: ValuesReview | undefined,
): Promise<readonly ListedProposal[]> => {
  const listed: ListedProposal[] = [];
  const known: KnownNeeds = new Map();
  for (const proposal of await readProposals(hub.store.db, 'waiting')) {
    const { sees, mayReject } = await rightsOver(hub, proposal, caller, known);
    if (sees) listed.push(describeProposal(await judgeProposal(hub, proposal, review), mayReject, known));
  }
  return listed;
};

const describeProposal = (
  { row, proposed, conditions, approvals }: JudgedProposal,
  rejectable: boolean,
  known: KnownNeeds,
): ListedProposal => {
  const isHidden = hiddenNames(known);
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
