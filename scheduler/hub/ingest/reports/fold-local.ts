import { LOCAL_VALUE } from '#bundles/formats/events/local-value';
import type { Event } from '#bundles/formats/events/event';
import { readLocalLine, toLocalEdit } from '../../store/local-edit-row.ts';
import { settleLocalEdits } from '../../store/settle-local-edits.ts';
import type { ReportRow, Tx } from '../../store/tables.ts';

/**
 * Records the values that people at the site set or took back, in the order of the agent's events, and ends the edits that are not the newest. What the
 * agent ended with an answer is confirmed. Repeated events change nothing. @param lineOf the signed line of an event
 */
export const foldLocal = async (
  tx: Tx,
  report: Pick<ReportRow, 'agent' | 'life' | 'received_at'>,
  events: readonly Event[],
  lineOf: (event: Event) => string,
): Promise<void> => {
  const { agent, life, received_at: receivedAt } = report;
  const names = new Set<string>();
  for (const event of events) {
    if (event.type !== LOCAL_VALUE) continue;
    const said = readLocalLine(lineOf(event));
    if (!said) continue;
    const row = toLocalEdit({ agent, life, seq: event.seq, at: event.at, receivedAt }, said);
    if (row) {
      await tx
        .insertInto('local_edit')
        .values(row)
        .onConflict((conflict) => conflict.columns(['agent', 'life', 'seq']).doNothing())
        .execute();
      names.add(row.name);
    } else {
      await tx
        .updateTable('local_edit')
        .set({ confirmed: 1 })
        .where('agent', '=', agent)
        .where('life', '=', life)
        .where('edit', '=', said.edit)
        .execute();
    }
  }
  for (const name of names) await settleLocalEdits(tx, { agent, life, name });
};
