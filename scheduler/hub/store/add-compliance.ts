import type { Kysely } from 'kysely';

/** Adds the hourly counts of agents by environment. */
export const addCompliance = async (db: Kysely<unknown>): Promise<void> => {
  let table = db.schema
    .createTable('compliance')
    .addColumn('hour', 'bigint', (column) => column.notNull())
    .addColumn('environment', 'text', (column) => column.notNull());
  for (const count of ['complies', 'waiting', 'differs', 'late', 'silent', 'never_reported'])
    table = table.addColumn(count, 'bigint', (column) => column.notNull());
  await table.addPrimaryKeyConstraint('compliance_pk', ['hour', 'environment']).execute();
};
