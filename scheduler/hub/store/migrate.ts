import { setTimeout } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { FleetError, isFleetError } from '#bundles/errors';
import type { StoreError } from './name-errors.ts';
import type { Database } from './tables.ts';

/** Part of the name of a migration that removes or changes what programs without it use. */
const CONTRACT = /^\d{4}-contract-/;

/** How often a migration is tried while other processes write, and the pause between. */
const ATTEMPTS = 10;
const PAUSE_MS = 200;

export type MigrateOptions = {
  /** The database, for people. */
  readonly name: string;
  readonly migrations: Readonly<Record<string, Migration>>;
  readonly storeError: StoreError;
  /** A SQLite file. */
  readonly isFile: boolean;
};

/**
 * Applies the migrations that the database lacks, while programs without them go on. A database with migrations that this program
 * does not know is used as it is, unless one of them is a contract.
 * @throws FleetError STORE_NEWER; BUSY, DISK_FULL, IO, DATABASE_UNREACHABLE
 */
export const migrate = async (db: Database, options: MigrateOptions): Promise<void> => {
  const { name, migrations, storeError, isFile } = options;
  if (await isCurrent(db, migrations)) return;
  for (let attempt = 1; ; attempt += 1) {
    const { error } = await (isFile ? migrateFile(db, migrations) : migrateWith(db, migrations));
    if (error === undefined) return;
    if (error instanceof Error && error.message.startsWith('corrupted migrations'))
      return checkNewer(db, options, error);
    const known = storeError(error, `migrating ${name}`);
    if (!isFleetError(known, 'BUSY') || attempt === ATTEMPTS) throw known;
    await setTimeout(PAUSE_MS);
  }
};

type Migrations = MigrateOptions['migrations'];
type Migrated = Awaited<ReturnType<Migrator['migrateToLatest']>>;

const migrateWith = (db: Database, migrations: Migrations): Promise<Migrated> =>
  new Migrator({ db, provider: { getMigrations: async () => queued(migrations) } }).migrateToLatest();

/**
 * All migrations in one transaction that begins as a writer's. Kysely takes no lock for SQLite and commits each statement, so that two
 * processes would apply the same migration, and a kill would leave half of one, which no later start could complete.
 */
const migrateFile = (db: Database, migrations: Migrations): Promise<Migrated> =>
  db.connection().execute(async (connection) => {
    try {
      await sql`begin immediate`.execute(connection);
    } catch (error) {
      return { error };
    }
    const migrated = await migrateWith(connection, migrations);
    try {
      await (migrated.error === undefined ? sql`commit` : sql`rollback`).execute(connection);
      return migrated;
    } catch (error) {
      // A full disk has ended the transaction already.
      return { ...migrated, error: migrated.error ?? error };
    }
  });

/**
 * Whether the database has exactly the migrations of this program, in one statement: the migrator reads the whole schema several times
 * to find that out.
 */
const isCurrent = async (db: Database, migrations: MigrateOptions['migrations']): Promise<boolean> => {
  const applied = await appliedOrNone(db);
  return applied.length === Object.keys(migrations).length && applied.every((one) => one in migrations);
};

/** Empty for a new database, which has no such table. The migrator meets and names any other error. */
const appliedOrNone = (db: Database): Promise<readonly string[]> =>
  appliedIn(db).catch((error: unknown) => {
    if (isFleetError(error, 'DATABASE_UNREACHABLE')) throw error;
    return [];
  });

/** Names of the migrations that a database has. */
export const appliedIn = async (db: Database): Promise<readonly string[]> => {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return rows.map((row) => row.name);
};

/** Each migration first takes the lock of writers, as every writer does, so that neither waits for the other with a lock it needs. */
const queued = (migrations: MigrateOptions['migrations']): Record<string, Migration> =>
  Object.fromEntries(
    Object.entries(migrations).map(([name, migration], at) => [
      name,
      {
        ...migration,
        up: async (db: Kysely<unknown>) => {
          if (at > 0) await sql`update fleet set writes = writes + 1`.execute(db);
          await migration.up(db);
        },
      },
    ]),
  );

/**
 * Refuses a database that a newer program made unfit for this one. @param cause the error of the migrator, which does not know all that was
 * applied @throws FleetError STORE_NEWER
 */
export const checkNewer = async (
  db: Database,
  { name, migrations }: Pick<MigrateOptions, 'name' | 'migrations'>,
  cause?: Error,
): Promise<void> => {
  const applied = new Set(await appliedIn(db));
  const contract = [...applied].find((one) => !(one in migrations) && CONTRACT.test(one));
  const missing = Object.keys(migrations).find((one) => !applied.has(one));
  if (contract === undefined && missing === undefined) return;
  const why =
    contract === undefined
      ? `it has migrations that this version does not know, and lacks ${missing}`
      : `its migration ${contract} removed what this version uses`;
  throw new FleetError('STORE_NEWER', `${name} was made by a newer version of this program: ${why}`, {
    hint: 'Update this program first',
    cause,
  });
};
