import { Client } from 'pg';
import type { PostgresqlServer } from './postgresql.ts';

/** Copies of databases with the same tables. One that is released is filled anew: `create database` and `drop database` take ten times as long. */
export type Copies = AsyncDisposable & {
  /** @param template a database that nobody writes any more @returns the name of a database with its rows */
  readonly take: (template: string) => Promise<string>;
  readonly release: (database: string) => Promise<void>;
};

type Copy = { readonly name: string; readonly client: Client };

/** Tables, indexes and migrations: a test that changed them keeps its copy for itself. */
const SHAPE = `select (select count(*) from pg_class) || ' ' || (select count(*) from pg_attribute) || ' ' ||
  (select string_agg(name, ' ' order by name) from kysely_migration) as shape`;

const END_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

export const makeCopies = (server: PostgresqlServer): Copies => {
  const idle: Copy[] = [];
  const taken = new Map<string, Copy>();
  const fills = new Map<string, Promise<string>>();
  let first: { readonly template: string; readonly shape: string } | undefined;

  const make = async (template: string): Promise<Copy> => {
    const name = await server.create(first?.template ?? template);
    const client = new Client(server.url(name));
    // A server that a test stops ends the connection.
    client.on('error', () => {});
    await client.connect();
    first ??= { template, shape: await shapeOf(client) };
    return { name, client };
  };
  const fillOf = (template: string): Promise<string> => {
    const fill = fills.get(template) ?? readFill(server, template);
    fills.set(template, fill);
    return fill;
  };
  return {
    take: async (template) => {
      const copy = idle.pop() ?? (await make(template));
      taken.set(copy.name, copy);
      await copy.client.query(await fillOf(template));
      return copy.name;
    },
    release: async (database) => {
      const copy = taken.get(database);
      taken.delete(database);
      if (copy && (await isSame(copy.client, first?.shape))) idle.push(copy);
      else await server.drop(database);
    },
    [Symbol.asyncDispose]: async () => {
      for (const { client } of [...idle, ...taken.values()]) await client.end().catch(() => {});
    },
  };
};

/** Ends what a test left open. @returns whether the tables are as they were */
const isSame = async (client: Client, shape: string | undefined): Promise<boolean> => {
  try {
    await client.query(END_OTHERS);
    return (await shapeOf(client)) === shape;
  } catch {
    return false;
  }
};

const shapeOf = async (client: Client): Promise<string> => {
  const { rows } = await client.query<{ shape: string }>(SHAPE);
  return rows[0]?.shape ?? '';
};

/** Statements that empty all tables and write the rows of a database into them. */
const readFill = async (server: PostgresqlServer, template: string): Promise<string> => {
  const client = new Client(server.url(template));
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    );
    const statements: string[] = [];
    for (const name of tables.rows.map((row) => client.escapeIdentifier(row.name))) {
      const { rows } = await client.query<{ all: string | null }>(
        `select json_agg(t)::text as all from ${name} as t`,
      );
      const all = rows[0]?.all;
      statements.push(`delete from ${name}`);
      if (typeof all === 'string')
        statements.push(
          `insert into ${name} select * from json_populate_recordset(null::${name}, ${client.escapeLiteral(all)})`,
        );
    }
    return statements.join(';\n');
  } finally {
    await client.end();
  }
};
