import { type Kysely, sql } from 'kysely';

/** Adds the history and the order in which reports were stored. Rows of a database with reports come when a hub opens it. */
export const addHistory = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema.alterTable('report').addColumn('number', 'bigint').execute();
  await sql`update report set number = numbered.number from (
      select agent, life, digest, row_number() over (order by received_at, agent, life, first_seq, digest) as number
      from report) as numbered
    where numbered.agent = report.agent and numbered.life = report.life
      and numbered.digest = report.digest`.execute(db);
  await db.schema.createIndex('report_number').on('report').column('number').unique().execute();
  await db.schema
    .alterTable('fleet')
    .addColumn('history', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('assignment_state').addColumn('outcome_package', 'text').execute();
  await db.schema
    .createIndex('event_assignment')
    .on('event')
    .columns(['agent', 'assignment', 'life', 'seq'])
    .execute();
  await db.schema
    .createTable('history')
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('assignment', 'text', (column) => column.notNull())
    .addColumn('field', 'text', (column) => column.notNull())
    .addColumn('life', 'bigint', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('value', 'text')
    .addColumn('observed_at', 'text', (column) => column.notNull())
    .addColumn('received_at', 'text', (column) => column.notNull())
    .addColumn('report', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('history_pk', ['agent', 'assignment', 'field', 'life', 'seq'])
    .execute();
  for (const column of ['assignment', 'agent'])
    await db.schema.createIndex(`history_${column}`).on('history').columns([column, 'observed_at']).execute();
  await db.schema.createIndex('history_observed').on('history').column('observed_at').execute();
  await db.schema
    .createIndex('assignment_state_agent')
    .on('assignment_state')
    .columns(['assignment', 'agent'])
    .execute();
};
