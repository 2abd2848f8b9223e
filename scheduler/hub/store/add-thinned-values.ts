import type { Kysely } from 'kysely';

/** Marks documents of a site's values of which retention removed those beside them: they tell who gave a value, and not what a site had at a time. */
export const addThinnedValues = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .alterTable('site_values_version')
    .addColumn('thinned', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
};
