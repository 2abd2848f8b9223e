import type { EventRow, ReportRow, Tx } from '../store/tables.ts';
import type { Difference, StoredSpan } from './compare-chain.ts';

/** Stored events within the range of a report, or next to it. */
export const readStored = async (tx: Tx, row: ReportRow): Promise<readonly StoredSpan[]> => {
  const rows = await tx
    .selectFrom('event')
    .select(['seq', 'hash', 'prev', 'last_seq'])
    .where('agent', '=', row.agent)
    .where('life', '=', row.life)
    .where((eb) => eb.or([eb('seq', '>=', row.first_seq - 1), eb('last_seq', '>=', row.first_seq - 1)]))
    .where('seq', '<=', row.last_seq + 1)
    .orderBy('seq')
    .execute();
  return rows.map(({ seq, hash, prev, last_seq: last }) => ({
    seq,
    to: last ?? seq,
    prev,
    hash,
    compacted: last !== null,
  }));
};

/** Events have arrived after the compacted event that stands for them: it keeps what is still missing. */
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
