import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type AuditLog, promotedTo } from '../../../load/releases/audit-log.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import { foldDecisions } from '../facts/decisions.ts';
import type { Link } from '../facts/link.ts';

/**
 * The candidate that an environment goes back to: one that the audit log has as promoted by this link before. It passed its gate
 * then, so the gate is not asked again.
 * @param named digest of a candidate; undefined: the one that was promoted before the current one
 * @throws FleetError NOT_PROMOTED if there is none, or it is the current one; REVOKED if it was rejected since
 */
export const chooseRollback = (
  log: AuditLog,
  { from, to }: Pick<Link, 'from' | 'to'>,
  named: Digest | undefined,
): Lineage => {
  const current = promotedTo(log, to);
  const found = log.entries.findLast(
    (entry) =>
      entry.kind === 'promotion' &&
      entry.predicate.to === to &&
      entry.predicate.from === from &&
      (named === undefined ? entry.predicate.shared !== current?.shared : entry.candidate === named),
  );
  const ofLink = log.entries.some(
    ({ kind, predicate }) => kind === 'promotion' && predicate.to === to && predicate.from === from,
  );
  if (!ofLink)
    throw new FleetError('NOT_PROMOTED', `no candidate was ever promoted from ${from} to ${to}`, {
      subject: to,
      hint: `Promote with: fleet-scheduler promote ${to}; for promotions of an earlier link of the chain, see fleet-scheduler releases rollback`,
    });
  if (found?.kind !== 'promotion' || found.candidate === undefined) {
    throw new FleetError(
      'NOT_PROMOTED',
      named === undefined
        ? `no candidate but the current one was ever promoted from ${from} to ${to}`
        : `candidate ${shortDigest(named)} was never promoted from ${from} to ${to}`,
      {
        subject: to,
        hint: 'Name a candidate of an earlier promotion, see fleet-scheduler audit list; for promotions of an earlier link of the chain, see fleet-scheduler releases rollback',
      },
    );
  }
  const { shared } = found.predicate;
  if (shared === current?.shared)
    throw new FleetError('NOT_PROMOTED', `${to} is at candidate ${shortDigest(found.candidate)} now`, {
      subject: to,
    });
  const { rejected } = foldDecisions(log.entries, { to, shared });
  if (rejected !== undefined)
    throw new FleetError('REVOKED', `candidate ${shortDigest(found.candidate)} was ${rejected}`, {
      subject: to,
    });
  return { candidate: found.candidate, shared };
};
