import { type Kysely, sql } from 'kysely';
import { MIGRATIONS } from '../../../../scheduler/hub/store/migrations.ts';

/** Migrations as a later release may have them: all that the rule allows. */
export const NEXT = {
  ...MIGRATIONS,
  '9001-next': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('next')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .execute();
      await db.schema.alterTable('agent').addColumn('next', 'text').execute();
      await db.schema
        .alterTable('event')
        .addColumn('next', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
      await db.schema
        .alterTable('fleet')
        .addColumn('next', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
      await db.schema.createIndex('event_next').on('event').columns(['next', 'at']).execute();
      await sql`update event set next = seq`.execute(db);
    },
  },
};

/** The release after that removes something. */
export const CONTRACTED = {
  ...NEXT,
  '9002-contract-next': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').dropColumn('next').execute();
    },
  },
};
