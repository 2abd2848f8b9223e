import { Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { openSqlite } from '../../../../scheduler/hub/store/sqlite-dialect.ts';

type Schema = {
  /** Type of each column, by 'table.column'. */
  readonly columns: ReadonlyMap<string, string>;
  /** Columns that an INSERT must name. */
  readonly needed: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  readonly indexes: ReadonlySet<string>;
  /** Columns of the unique indexes, by 'table(column, ...)'. */
  readonly unique: ReadonlySet<string>;
};

const schemaOf = async (db: Kysely<unknown>): Promise<Schema> => {
  const tables = await db.introspection.getTables();
  const columns = tables.flatMap((table) => table.columns.map((column) => ({ table, column })));
  const { rows } = await sql<{ index: string; table: string; column: string; isUnique: number }>`
    select i.name as "index", m.name as "table", i."unique" as "isUnique", group_concat(c.name, ', ') as "column"
    from sqlite_master m join pragma_index_list(m.name) i join pragma_index_info(i.name) c
    where m.type = 'table' and i.origin = 'c' group by 1, 2, 3`.execute(db);
  return {
    columns: new Map(columns.map(({ table, column }) => [`${table.name}.${column.name}`, column.dataType])),
    needed: new Set(
      columns
        .filter(({ table, column }) => !table.isView && !column.isNullable && !column.hasDefaultValue)
        .map(({ table, column }) => `${table.name}.${column.name}`),
    ),
    tables: new Set(tables.map(({ name }) => name)),
    indexes: new Set(rows.map(({ index }) => index)),
    unique: new Set(
      rows.filter(({ isUnique }) => isUnique === 1).map(({ table, column }) => `${table}(${column})`),
    ),
  };
};

const compare = (before: Schema, after: Schema): readonly string[] => [
  ...[...before.columns].flatMap(([name, type]) => {
    if (!after.columns.has(name)) return [`removes ${name}`];
    return after.columns.get(name) === type ? [] : [`changes the type of ${name}`];
  }),
  ...[...after.needed]
    .filter((name) => before.tables.has(name.split('.')[0] ?? '') && !before.needed.has(name))
    .map((name) => `demands ${name}`),
  // A unique index on new columns alone refuses nothing: older programs leave them null.
  ...[...after.unique].flatMap((index) => {
    const [table = '', columns = ''] = index.slice(0, -1).split('(');
    const isOld = columns.split(', ').some((column) => before.columns.has(`${table}.${column}`));
    return before.unique.has(index) || !isOld ? [] : [`demands unique ${index}`];
  }),
  ...[...before.indexes].filter((index) => !after.indexes.has(index)).map((index) => `removes ${index}`),
];

/** What each migration takes from programs without it: 'NAME removes agent.labels'. On a new SQLite file. */
export const whatBreaks = async (
  file: string,
  migrations: Readonly<Record<string, Migration>>,
): Promise<readonly string[]> => {
  const db = new Kysely<unknown>({ dialect: await openSqlite(file) });
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
    const found: string[] = [];
    let before = await schemaOf(db);
    for (const name of Object.keys(migrations)) {
      const { error } = await migrator.migrateTo(name);
      if (error !== undefined) throw error;
      const after = await schemaOf(db);
      found.push(...compare(before, after).map((what) => `${name} ${what}`));
      before = after;
    }
    return found;
  } finally {
    await db.destroy();
  }
};
