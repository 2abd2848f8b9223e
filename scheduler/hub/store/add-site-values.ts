import { type Kysely, sql } from 'kysely';
import { digestOf } from '#bundles/digest';

type Known = {
  readonly name: string;
  readonly version: number;
  readonly site_values: string;
  readonly issued_at: string;
};

/** Every values document that a site ever had, and the changes of values that wait for review. What sites have now begins their record. */
export const addSiteValues = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('site_values_version')
    .addColumn('site', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('person', 'text')
    .addColumn('reason', 'text')
    .addPrimaryKeyConstraint('site_values_version_pk', ['site', 'version'])
    .execute();
  await db.schema
    .createIndex('site_values_version_digest')
    .on('site_values_version')
    .columns(['site', 'digest'])
    .execute();
  const { rows } = await sql<Known>`select name, version, site_values, issued_at from site`.execute(db);
  for (const { name, version, site_values: document, issued_at: at } of rows)
    await sql`insert into site_values_version (site, version, digest, document, at)
      values (${name}, ${version}, ${digestOf(document)}, ${document}, ${at})`.execute(db);
  await db.schema
    .createTable('values_proposal')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('ended_by', 'text')
    .addColumn('ended_reason', 'text')
    .addColumn('ended_at', 'text')
    .execute();
  await db.schema
    .createIndex('values_proposal_state')
    .on('values_proposal')
    .columns(['state', 'at'])
    .execute();
};
