import type { Digest } from '#bundles/digest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { canonicalBytes } from '#bundles/json/canonical';
import { readAuditLog, readCheckedLines } from '../../../load/releases/audit-log.ts';
import type { Hub } from '../../hub.ts';
import type { CountedApproval, Decisions } from '../facts/decisions.ts';
import { judgeApprovals } from '../judge/judge-approvals.ts';
import type { Condition } from '../judge/verdict.ts';
import type { Proposal } from './propose-values.ts';
import { rulesFor } from './rules-for.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';

export type JudgedProposal = Proposal & {
  /** One for each rule that its values fall under; `name` says which. */
  readonly conditions: readonly Condition[];
  /** One for each key, its newest. */
  readonly approvals: readonly CountedApproval[];
};

/** Judges a proposal by the rules and keys as they are now, as a gate judges the approvals of a promotion. */
export const judgeProposal = async (
  hub: Hub,
  proposal: Proposal,
  review: ValuesReview | undefined,
): Promise<JudgedProposal> => {
  const approvals = await readApprovals(hub, proposal.row.id);
  const decisions: Decisions = { approvals, rejected: undefined, paused: undefined, promoted: undefined };
  const keys = { bundle: hub.keys.root.roles.bundle.keys.map(({ hint }) => hint), authors: [] };
  const rules = await rulesFor(hub, review, proposal.proposed.changes);
  const conditions = rules.map((rule) => ({
    ...judgeApprovals({ approvals: rule.approvals }, decisions, { keys }, proposal.row.person),
    name: rule.role === undefined ? 'approvals' : `approvals of role ${rule.role}`,
  }));
  return { ...proposal, conditions, approvals };
};

/** Approvals of a proposal in the audit log: one for each key, its newest. */
export const readApprovals = async (hub: Hub, id: Digest): Promise<readonly CountedApproval[]> => {
  const { entries } = await readAuditLog(await openOrStartLayout(hub.layout), hub.keys.roots);
  const approvals = new Map<string, CountedApproval>();
  for (const { kind, predicate, payload, signer, at } of entries)
    if (kind === 'approval' && predicate.about === 'site-values' && predicate.shared === id)
      approvals.set(signer, { payload, person: predicate.person, signer, at });
  return [...approvals.values()];
};

/** The files of these approvals, as the audit log has them. */
export const approvalFiles = async (
  hub: Hub,
  approvals: readonly CountedApproval[],
): Promise<readonly Buffer[]> => {
  const layout = await openOrStartLayout(hub.layout);
  const { entries } = await readAuditLog(layout, hub.keys.roots);
  const wanted = new Set(approvals.map(({ payload }) => payload));
  const numbers = new Set(entries.filter(({ payload }) => wanted.has(payload)).map(({ number }) => number));
  const lines = await readCheckedLines(layout, hub.keys.roots);
  return lines.filter(({ number }) => numbers.has(number)).map(({ statement }) => canonicalBytes(statement));
};
