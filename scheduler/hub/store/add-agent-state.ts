import { type Kysely, sql } from 'kysely';

/** Adds what is known of each agent as a whole, and indexes for the questions of gates. Its rows come when a hub opens the database. */
export const addAgentState = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('agent_state')
    .addColumn('agent', 'text', (column) => column.primaryKey())
    .addColumn('newest_seq', 'bigint', (column) => column.notNull())
    .addColumn('packages', 'text', (column) => column.notNull())
    .addColumn('failed', 'bigint', (column) => column.notNull())
    .addColumn('drifted', 'bigint', (column) => column.notNull())
    .addColumn('unknown', 'bigint', (column) => column.notNull())
    .addColumn('checked_at', 'text')
    .addColumn('settled_at', 'text')
    .execute();
  await db.schema.createIndex('agent_environment').on('agent').columns(['environment', 'id']).execute();
  await sql`create index history_release on history (value, agent, life, seq) where field = 'release'`.execute(
    db,
  );
  await sql`create index event_fault on event (at, agent, life, seq)
    where outcome = 'failed' or type in ('drift', 'rolled-back')`.execute(db);
};
