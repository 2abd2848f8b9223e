import type { Kysely } from 'kysely';

/** The state of the composed values of each site. */
export const addSiteLayers = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('site_layers')
    .addColumn('site', 'text', (column) => column.primaryKey())
    .addColumn('declared', 'text')
    .addColumn('held', 'text')
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('written', 'integer', (column) => column.notNull())
    .execute();
};
