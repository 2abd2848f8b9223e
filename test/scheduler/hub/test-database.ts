import type { PostgresqlServer } from '../../harness/postgresql.ts';

/** The PostgreSQL server that databases of tests are made on; undefined: they are SQLite files. */
let server: PostgresqlServer | undefined;

/** From now on databases are made on this server. test/integration/hub-postgresql.test.ts runs tests of the hub a second time so. */
export const useServer = (given: PostgresqlServer | undefined): void => {
  server = given;
};

/** Calls `make` once for each place of databases: files of tests that share a process may use both. */
export const oncePerServer = <T>(make: () => T): (() => T) => {
  const made = new Map<PostgresqlServer | undefined, T>();
  return () => {
    const value = made.get(server) ?? make();
    made.set(server, value);
    return value;
  };
};

/** Where a test's database is (--db): this file, or an empty database of the server, or a copy of `template`. */
export const databaseAt = async (file: string, template?: string): Promise<string> =>
  server ? server.url(await server.create(template && nameOf(template))) : file;

/** Frees the memory of a database of the server; a file goes with its folder. */
export const dropDatabase = async (place: string): Promise<void> => {
  if (server && place.startsWith('postgres:')) await server.drop(nameOf(place));
};

const nameOf = (place: string): string => new URL(place).pathname.slice(1);
