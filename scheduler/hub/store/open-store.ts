import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { type Dialect, type Driver, Kysely, type LogEvent, SqliteDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { FleetError } from '#bundles/errors';
import { keepDatabasePrivate } from '#bundles/program/keep-private';
import { MIGRATIONS } from './migrations.ts';
import { storeError } from './store-error.ts';
import type { Database, Tables, Tx } from './tables.ts';

/** The hub's database, open. One writer at a time; readers never wait. */
export type Store = AsyncDisposable & {
  readonly fleet: string;
  readonly db: Database;
  /** All of it or nothing, also when the plug is pulled. @throws FleetError BUSY, DISK_FULL, STORE_CORRUPT */
  readonly transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
};

export type StoreOptions = {
  /** Called after every statement. */
  readonly log?: (event: LogEvent) => void;
};

/** How long a writer waits for another before BUSY. */
const BUSY_TIMEOUT_MS = 10_000;

/**
 * Opens or makes the SQLite file of one fleet's hub, which its owner alone may read. Durable: a commit that returned survives a power cut.
 * @throws FleetError WRONG_FLEET for another fleet's file, STORE_CORRUPT, PERMISSION ...
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
          // The first statement writes: from here on no other writer can come between reading and writing.
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
 * A full disk ends a transaction by itself (SQLite, "Response To Errors Within A Transaction"). Rolling back what is over
 * already would fail, and hide why it was.
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
