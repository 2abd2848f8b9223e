import type { Kysely } from 'kysely';

/**
 * Adds causes of alarms, acknowledgements, silences, and the alarms that are over. An earlier version inserts rows without a cause; the next
 * round of this version sets it.
 */
export const addAlarmHandling = async (db: Kysely<unknown>): Promise<void> => {
  for (const column of ['cause', 'cause_id'] as const)
    await db.schema.alterTable('open_alarm').addColumn(column, 'text').execute();
  await db.schema
    .createTable('alarm_acknowledged')
    .addColumn('alarm', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('alarm_acknowledged_pk', ['alarm'])
    .execute();
  await db.schema
    .createTable('alarm_silence')
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('about', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('until_at', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'text')
    .addColumn('ended_by', 'text')
    .addPrimaryKeyConstraint('alarm_silence_pk', ['target', 'at'])
    .execute();
  await db.schema
    .createTable('past_alarm')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('severity', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('summary', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'text', (column) => column.notNull())
    .addColumn('gone_at', 'text', (column) => column.notNull())
    .addColumn('cause', 'text')
    .addColumn('cause_id', 'text')
    .addColumn('acknowledged_by', 'text')
    .addPrimaryKeyConstraint('past_alarm_pk', ['id', 'opened_at'])
    .execute();
  await db.schema.createIndex('past_alarm_gone').on('past_alarm').column('gone_at').execute();
};
