import type { Kysely } from 'kysely';

/** Changes of the office that wait for the audit log (PendingChangeRow). */
export const addPendingChanges = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('pending_change')
    .addColumn('number', 'bigint', (column) => column.primaryKey())
    .addColumn('change', 'text', (column) => column.notNull())
    .execute();
};
