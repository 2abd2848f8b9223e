import type { Kysely } from 'kysely';

/** Adds the sessions of people, and sign-ins under way. */
export const addPeople = async (db: Kysely<unknown>): Promise<void> => {
  let session = db.schema.createTable('session').addColumn('id', 'text', (column) => column.primaryKey());
  for (const name of [
    'hash',
    'rotated_at',
    'csrf',
    'kind',
    'person',
    'groups',
    'created_at',
    'seen_at',
    'ends_at',
  ] as const)
    session = session.addColumn(name, 'text', (column) => column.notNull());
  for (const name of ['previous_hash', 'issuer', 'subject', 'token', 'ended_at', 'ended_why'] as const)
    session = session.addColumn(name, 'text');
  await session.execute();
  await db.schema.createIndex('session_hash').on('session').column('hash').unique().execute();
  await db.schema.createIndex('session_previous_hash').on('session').column('previous_hash').execute();
  await db.schema
    .createTable('sign_in')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('ends_at', 'text', (column) => column.notNull())
    .execute();
};
