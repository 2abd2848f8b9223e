import type { AgentRow, EventRow, ReportRow, Tx } from '../../store/tables.ts';
import type { Difference, StoredSpan } from './compare-chain.ts';

/** Type of the row that stands for a run of events that retention removed. No agent writes it. */
export const REMOVED = 'removed';

/** Stored events within the range of a report, or next to it. */
export const readStored = async (tx: Tx, row: ReportRow): Promise<readonly StoredSpan[]> => {
  const start = row.first_seq - 1;
  const rows = await tx
    .selectFrom('event')
    .select(['seq', 'hash', 'prev', 'last_seq', 'type'])
    .where('agent', '=', row.agent)
    .where('life', '=', row.life)
    .where('seq', '>=', await firstAround(tx, { id: row.agent, life: row.life }, start))
    .where('seq', '<=', row.last_seq + 1)
    .orderBy('seq')
    .execute();
  return rows
    .map(({ seq, hash, prev, last_seq: last, type }) => ({
      seq,
      to: last ?? seq,
      prev,
      hash,
      compacted: last !== null && type !== REMOVED,
      removed: type === REMOVED,
    }))
    .filter(({ to }) => to >= start);
};

/**
 * The number of the stored event that covers `seq` or is the newest before it. Stored events do not overlap, so a search from there on
 * reads no others, however many an agent has.
 */
export const firstAround = async (
  tx: Tx,
  { id, life }: Pick<AgentRow, 'id' | 'life'>,
  seq: number,
): Promise<number> => {
  const around = await tx
    .selectFrom('event')
    .select('seq')
    .where('agent', '=', id)
    .where('life', '=', life)
    .where('seq', '<=', seq)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return around?.seq ?? seq;
};

/** Events arrived after the compacted event that replaces them: it keeps the spans that are still missing. */
export const openCompacted = async (
  tx: Tx,
  { agent, life }: ReportRow,
  opened: Difference['opened'],
): Promise<void> => {
  for (const { span, rest } of opened) {
    const row = await tx
      .deleteFrom('event')
      .where('agent', '=', agent)
      .where('life', '=', life)
      .where('seq', '=', span.seq)
      .returningAll()
      .executeTakeFirstOrThrow();
    const rows = rest.map(({ seq, to, prev, hash }): EventRow => ({ ...row, seq, last_seq: to, prev, hash }));
    if (rows.length > 0) await tx.insertInto('event').values(rows).execute();
  }
};
