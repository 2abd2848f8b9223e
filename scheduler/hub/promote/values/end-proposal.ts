import { formatTime } from '#bundles/time';
import { noteChange } from '../../changes/note-change.ts';
import type { By } from '../../store/open-store.ts';
import type { Tx } from '../../store/tables.ts';
import type { Proposal } from './propose-values.ts';

/** Ends a proposal that waits, by a person or by a rule. @returns false if it does not wait any more */
export const endProposal = async (
  tx: Tx,
  { row: { id } }: Proposal,
  { state, by, now }: { readonly state: 'applied' | 'rejected'; readonly by: By; readonly now: Date },
): Promise<boolean> => {
  const { numUpdatedRows } = await tx
    .updateTable('values_proposal')
    .set({
      state,
      ended_by: by.person ?? 'a rule',
      ended_reason: by.reason,
      ended_at: formatTime(now),
    })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
};

/** Rejects a proposal that waits, and notes it for the audit log. @returns as endProposal */
export const rejectProposal = async (tx: Tx, proposal: Proposal, by: By, now: Date): Promise<boolean> => {
  const ended = await endProposal(tx, proposal, { state: 'rejected', by, now });
  if (!ended) return false;
  const { row, proposed } = proposal;
  const about = proposed.changes[0]?.site ?? 'sites';
  const old = { proposal: row.id, person: row.person };
  await noteChange(tx, { change: 'sites values reject', about, old, new: null }, by, now);
  return true;
};
