import type { Kysely } from 'kysely';

/** Adds the alarms that are open, the notices that each receiver has, and which receivers fail. */
export const addAlarms = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('open_alarm')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('severity', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('summary', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'text', (column) => column.notNull())
    .addColumn('gone_at', 'text')
    .execute();
  await db.schema
    .createTable('alarm_sent')
    .addColumn('receiver', 'text', (column) => column.notNull())
    .addColumn('alarm', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'text', (column) => column.notNull())
    .addColumn('severity', 'text', (column) => column.notNull())
    .addColumn('sent_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('alarm_sent_pk', ['receiver', 'alarm'])
    .execute();
  await db.schema
    .createTable('alarm_receiver')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('failing_since', 'text', (column) => column.notNull())
    .addColumn('failures', 'bigint', (column) => column.notNull())
    .addColumn('next_at', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .execute();
};

/** Adds notices that a receiver refused, which are sent again. A program without it takes them for sent. */
export const addRefusals = async (db: Kysely<unknown>): Promise<void> => {
  for (const name of ['refused_what', 'refused_at', 'refusal', 'next_at'] as const)
    await db.schema.alterTable('alarm_sent').addColumn(name, 'text').execute();
  await db.schema
    .alterTable('alarm_sent')
    .addColumn('refusals', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
};
