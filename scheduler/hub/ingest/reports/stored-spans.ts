import { sql } from 'kysely';
import { valuesTable } from '../../store/values-table.ts';
import type { AgentRow, EventRow, ReportRow, Tx } from '../../store/tables.ts';
import type { Difference, StoredSpan } from './compare-chain.ts';

/** Type of the row that stands for a run of events that retention removed. No agent writes it. */
export const REMOVED = 'removed';

type Found = Pick<EventRow, 'agent' | 'seq' | 'hash' | 'prev' | 'last_seq' | 'type'>;

/**
 * Stored events within the range of each report, or next to it, by agent. Stored events do not overlap, so a search from the newest one
 * before the range reads no others, however many an agent has.
 * @param rows of different agents
 */
export const readStored = async (
  tx: Tx,
  rows: readonly ReportRow[],
): Promise<ReadonlyMap<string, readonly StoredSpan[]>> => {
  const asked = rows.map((row) => [row.agent, row.life, row.first_seq - 1, row.last_seq + 1]);
  const found = await sql<Found>`
    with asked(agent, life, first, last) as (${valuesTable(['text', 'bigint', 'bigint', 'bigint'], asked)})
    select event.agent, event.seq, event.hash, event.prev, event.last_seq, event.type
    from asked cross join event
    where event.agent = asked.agent and event.life = asked.life and event.seq <= asked.last
      and event.seq >= coalesce((select max(before.seq) from event as before
        where before.agent = asked.agent and before.life = asked.life and before.seq <= asked.first), asked.first)
    order by event.agent, event.seq`.execute(tx);
  const starts = new Map(rows.map((row) => [row.agent, row.first_seq - 1]));
  const spans = found.rows.map(({ agent, seq, hash, prev, last_seq: last, type }) => ({
    agent,
    span: {
      seq,
      to: last ?? seq,
      prev,
      hash,
      compacted: last !== null && type !== REMOVED,
      removed: type === REMOVED,
    },
  }));
  const near = spans.filter(({ agent, span }) => span.to >= (starts.get(agent) ?? 0));
  return new Map(
    [...Map.groupBy(near, ({ agent }) => agent)].map(([agent, all]) => [agent, all.map(({ span }) => span)]),
  );
};

/** The number of the stored event that covers `seq` or is the newest before it. */
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
