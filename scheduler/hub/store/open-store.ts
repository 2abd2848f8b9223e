import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { type Dialect, type Driver, Kysely, type LogEvent, SqliteDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { FleetError, toFleetError } from '#bundles/errors';
import { keepDatabasePrivate } from '#cli/keep-private';
import { MIGRATIONS } from './migrations.ts';
import type { Database, Tables, Tx } from './tables.ts';

/** The hub's open database. One writer at a time; readers never wait. */
export type Store = AsyncDisposable & {
  readonly fleet: string;
  readonly db: Database;
  /** Runs `work` in a durable transaction. @throws FleetError BUSY, DISK_FULL, STORE_CORRUPT, IO, or as thrown by `work` */
  readonly transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
};

export type StoreOptions = {
  /** Called after every statement. */
  readonly log?: (event: LogEvent) => void;
};

/** How long a writer waits for another before BUSY. */
const BUSY_TIMEOUT_MS = 10_000;

/**
 * Opens or creates the SQLite file of one fleet's hub, readable only by its owner, and applies migrations. A commit that
 * returned survives a power failure.
 * @throws FleetError WRONG_FLEET for another fleet's file; STORE_CORRUPT, also for a file of a newer version; PERMISSION, BUSY,
 *   DISK_FULL, IO
 */
export const openStore = async (file: string, fleet: string, options: StoreOptions = {}): Promise<Store> => {
  const db = await openDatabase(file, options);
  try {
    await migrate(db, file);
    await checkFleet(db, fleet, file);
  } catch (error) {
    await db.destroy();
    throw storeError(error, `opening ${file}`);
  }
  return {
    fleet,
    db,
    transact: async (work) => {
      try {
        return await db.transaction().execute(async (tx) => {
          // Writing first takes the write lock, so that no other writer comes between our reads and writes.
          await tx
            .updateTable('fleet')
            .set(({ eb }) => ({ writes: eb('writes', '+', 1) }))
            .execute();
          return work(tx);
        });
      } catch (error) {
        throw storeError(error, `writing ${file}`);
      }
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
};

const openDatabase = async (file: string, { log }: StoreOptions): Promise<Database> => {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    keepDatabasePrivate(file);
    const database = new SQLite(file, { timeout: BUSY_TIMEOUT_MS });
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    return new Kysely<Tables>({ dialect: dialectOf(database), ...(log && { log }) });
  } catch (error) {
    throw storeError(error, `opening ${file}`);
  }
};

/**
 * A dialect that rolls back only an open transaction. A full disk ends the transaction (SQLite, "Response To Errors Within A
 * Transaction"); another rollback would fail and hide the cause.
 */
const dialectOf = (database: SQLite.Database): Dialect => {
  const dialect = new SqliteDialect({ database });
  const createDriver = (): Driver => {
    const driver = dialect.createDriver();
    const rollback = driver.rollbackTransaction.bind(driver);
    driver.rollbackTransaction = async (connection) => {
      if (database.inTransaction) await rollback(connection);
    };
    return driver;
  };
  return {
    createDriver,
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
};

const migrate = async (db: Database, file: string): Promise<void> => {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (error instanceof Error && error.message.startsWith('corrupted migrations')) {
    throw new FleetError('STORE_CORRUPT', `${file} was made by a newer version of this program`, {
      hint: 'Update this program first',
      cause: error,
    });
  }
  throw error;
};

const checkFleet = async (db: Database, fleet: string, file: string): Promise<void> => {
  await db
    .insertInto('fleet')
    .columns(['name', 'writes'])
    .expression((eb) =>
      eb
        .selectFrom(
          eb
            .selectFrom('fleet')
            .select(({ fn }) => fn.countAll().as('rows'))
            .as('known'),
        )
        .select([eb.val(fleet).as('name'), eb.val(0).as('writes')])
        .where('known.rows', '=', 0),
    )
    .execute();
  const { name } = await db.selectFrom('fleet').select('name').executeTakeFirstOrThrow();
  if (name === fleet) return;
  throw new FleetError('WRONG_FLEET', `${file} is the database of fleet ${name}, the keys are of ${fleet}`, {
    hint: 'Give the --db that belongs to these --keys',
  });
};

/** Maps SQLite's errors to FleetError codes. */
const storeError = (error: unknown, doing: string): FleetError => {
  if (error instanceof FleetError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const said = `${doing}: ${error instanceof Error ? error.message : String(error)}`;
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new FleetError('BUSY', said, {
      cause: error,
      hint: 'Another command is writing; run this one again',
    });
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    return new FleetError('STORE_CORRUPT', said, { cause: error });
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN') || code === 'SQLITE_PERM')
    return new FleetError('PERMISSION', said, { cause: error });
  if (code.startsWith('SQLITE_IOERR')) return new FleetError('IO', said, { cause: error });
  return toFleetError(error, doing);
};
