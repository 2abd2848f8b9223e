import type { Kysely } from 'kysely';

/** Requests for support bundles, and the bundles. */
export const addSupport = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('support_request')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('person', 'text')
    .addColumn('reason', 'text')
    .addColumn('requested_at', 'text', (column) => column.notNull())
    .addColumn('until_at', 'text', (column) => column.notNull())
    .addColumn('answered_at', 'text')
    .execute();
  await db.schema.createIndex('support_request_agent').on('support_request').column('agent').execute();
  await db.schema
    .createTable('support_bundle')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('request', 'text')
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('made_at', 'text', (column) => column.notNull())
    .addColumn('received_at', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('file', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('support_bundle_agent').on('support_bundle').column('agent').execute();
};
