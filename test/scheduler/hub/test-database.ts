import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import type { PostgresqlServer } from '../../harness/neighbours/postgresql.ts';
import { type Copies, makeCopies } from '../../harness/neighbours/postgresql-copies.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** The PostgreSQL server that databases of tests are made on; undefined: they are SQLite files. */
let server: PostgresqlServer | undefined;
let copies: Copies | undefined;

/** From now on databases are made on this server. test/integration/hub/hub-postgresql.test.ts runs tests of the hub a second time so. */
export const useServer = (given: PostgresqlServer | undefined): void => {
  server = given;
  void copies?.[Symbol.asyncDispose]();
  copies = given && makeCopies(given);
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
export const databaseAt = async (file: string, template?: string): Promise<string> => {
  if (!server || !copies) return file;
  return server.url(await (template === undefined ? server.create() : copies.take(nameOf(template))));
};

/** An empty database, as the server has it or as the bytes of its file. */
type EmptyHub = { readonly place: string; readonly bytes: Buffer | undefined };

const emptyHubs = oncePerServer(() => new Map<string, Promise<EmptyHub>>());

/** Where the database of a test's hub is: this file or a database of the server, with the tables of an empty hub. */
export const hubDatabaseAt = async (file: string, fleet: string): Promise<string> => {
  const known = emptyHubs().get(fleet) ?? emptyHub(fleet);
  emptyHubs().set(fleet, known);
  const { place, bytes } = await known;
  if (bytes) writeFileSync(file, bytes, { mode: 0o600 });
  return databaseAt(file, place);
};

const emptyHub = async (fleet: string): Promise<EmptyHub> => {
  await using folder = await temporaryDirectory('hub-template');
  const place = await databaseAt(join(folder.path, 'hub.db'));
  await (await openStore(place, fleet))[Symbol.asyncDispose]();
  return { place, bytes: server ? undefined : readFileSync(place) };
};

/** Frees a database of the server; a file goes with its folder. */
export const dropDatabase = async (place: string): Promise<void> => {
  if (place.startsWith('postgres:')) await copies?.release(nameOf(place));
};

const nameOf = (place: string): string => new URL(place).pathname.slice(1);
