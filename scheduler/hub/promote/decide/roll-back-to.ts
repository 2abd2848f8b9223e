import type { Digest } from '#bundles/digest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { type AuditEntry, type AuditLog, readAuditLog } from '../../../load/releases/audit-log.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import { decide } from '../../../release/audit/decide.ts';
import { linkTo } from '../facts/link.ts';
import { promoteAgain } from '../gate/promote.ts';
import { chooseRollback } from '../gate/roll-back.ts';
import { type Chain, decidedBefore, indexOfRepeated, LOCK_WAIT_MS, type DecisionRequest } from './chain.ts';

export type RollBackRequest = DecisionRequest & {
  /** undefined: the candidate that was promoted before the current one. */
  readonly candidate: Digest | undefined;
  readonly reason: string;
};

export type RolledBack = Lineage & {
  readonly decision: 'roll-back';
  readonly to: string;
  /** Number of the new promotion. */
  readonly number: number;
  readonly person: string;
  readonly reason: string;
};

/**
 * Takes an environment back to a candidate that was promoted to it before: a decision, and a new promotion. A call that was
 * killed between the two continues with the candidate of its decision when it is repeated.
 * @throws FleetError NOT_PROMOTED, REVOKED if there is nothing to go back to; USAGE; BUSY; the codes of appendEntry
 */
export const rollBackTo = async (
  { hub, promotion }: Chain,
  request: RollBackRequest,
): Promise<RolledBack> => {
  const { environment, person, reason, now } = request;
  const { keys, layout } = hub;
  const link = linkTo(promotion, environment);
  const { to } = link;
  using releases = await openReleases(layout, { command: 'rollback', now, waitMs: LOCK_WAIT_MS });
  const log = await readAuditLog(await openOrStartLayout(layout), keys.roots);
  const begun = begunBy(log, request);
  const candidate = begun?.candidate ?? chooseRollback(log, link, request.candidate);
  const answer = { decision: 'roll-back', to, ...candidate, person, reason } as const;
  if (begun?.number !== undefined) return { ...answer, number: begun.number };
  await decide(releases, keys, { decision: 'roll-back', environment: to, candidate, person, reason, now });
  const again = { mode: 'manual', person, reason, now } as const;
  const { number } = await promoteAgain(releases, keys, { link, candidate, log }, again);
  return { ...answer, number };
};

/** Statements that the repeated call has signed already: the decision, and the number of its promotion if it was signed. */
const begunBy = (
  { entries }: AuditLog,
  request: RollBackRequest,
): { readonly candidate: Lineage; readonly number: number | undefined } | undefined => {
  const before = decidedBefore(entries, 'roll-back', request);
  if (!before?.candidate) return undefined;
  const { candidate, later } = before;
  const isIts = (entry: AuditEntry): boolean =>
    entry.kind === 'promotion' &&
    entry.predicate.to === request.environment &&
    entry.predicate.shared === candidate.shared;
  const promotion = later[indexOfRepeated(later, request, isIts)];
  return { candidate, number: promotion?.kind === 'promotion' ? promotion.predicate.number : undefined };
};
