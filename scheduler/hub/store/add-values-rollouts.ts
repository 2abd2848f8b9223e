import type { Kysely } from 'kysely';

/** Changes of values that reach sites in stages, the places that each changes, and environments whose values are pinned. */
export const addValuesRollouts = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('values_rollout')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('environment', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('progress', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('values_rollout_state')
    .on('values_rollout')
    .columns(['state', 'environment'])
    .execute();
  await db.schema
    .createTable('values_unit')
    .addColumn('rollout', 'text', (column) => column.notNull())
    .addColumn('site', 'text', (column) => column.notNull())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('stage', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint')
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('values_unit_pk', ['rollout', 'site', 'agent'])
    .execute();
  await db.schema.createIndex('values_unit_state').on('values_unit').columns(['state', 'site']).execute();
  await db.schema
    .createTable('values_pin')
    .addColumn('environment', 'text', (column) => column.primaryKey())
    .addColumn('person', 'text')
    .addColumn('reason', 'text')
    .addColumn('at', 'text', (column) => column.notNull())
    .execute();
};
