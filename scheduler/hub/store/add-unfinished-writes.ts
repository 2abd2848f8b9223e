import type { Kysely } from 'kysely';

/** Decisions that are being written into a repository (UnfinishedWriteRow). */
export const addUnfinishedWrites = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('unfinished_write')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('begun_at', 'text', (column) => column.notNull())
    .addColumn('changes', 'text', (column) => column.notNull())
    .execute();
};
