import { type Kysely, sql } from 'kysely';
import { LOCAL_VALUE } from '#bundles/formats/events/local-value';
import { readLocalLine, toLocalEdit } from './local-edit-row.ts';
import { settleLocalEdits } from './settle-local-edits.ts';
import type { Tables, Tx } from './tables.ts';

type Known = {
  readonly agent: string;
  readonly life: number;
  readonly seq: number;
  readonly at: string;
  readonly line: string;
  readonly received_at: string;
};

/** Values that people at sites set. A hub before this has kept their events, and knew nothing of them. */
export const addLocalEdits = async (db: Kysely<unknown>): Promise<void> => {
  const text = (name: string) => [name, 'text'] as const;
  let table = db.schema
    .createTable('local_edit')
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('life', 'bigint', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('confirmed', 'integer', (column) => column.notNull());
  const needed = ['edit', 'action', 'name', 'person', 'reason', 'at', 'received_at', 'state'];
  for (const name of needed) table = table.addColumn(...text(name), (column) => column.notNull());
  const optional = [
    'value',
    'old',
    'given',
    'given_digest',
    'note',
    'decided_by',
    'decided_reason',
    'decided_at',
  ];
  for (const name of optional) table = table.addColumn(...text(name));
  await table.addPrimaryKeyConstraint('local_edit_pk', ['agent', 'life', 'seq']).execute();
  await db.schema.createIndex('local_edit_state').on('local_edit').columns(['state', 'agent']).execute();
  const { rows } = await sql<Known>`select event.agent, event.life, event.seq, event.at, event.line,
    min(report.received_at) as received_at from event
    join report on report.agent = event.agent and report.life = event.life and report.digest = event.report
    where event.type = ${LOCAL_VALUE}
    group by event.agent, event.life, event.seq, event.at, event.line
    order by event.agent, event.life, event.seq`.execute(db);
  const tx = db as Kysely<Tables> as Tx;
  for (const { agent, life, seq, at, line, received_at: receivedAt } of rows) {
    const event = readLocalLine(line);
    const row = event && toLocalEdit({ agent, life, seq, at, receivedAt }, event);
    if (!row) continue;
    // The column came with a later version.
    const { proposal: _, ...columns } = row;
    await tx.insertInto('local_edit').values(columns).execute();
    await settleLocalEdits(tx, row);
  }
};
