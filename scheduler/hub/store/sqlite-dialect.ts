import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { type Dialect, type Driver, SqliteDialect } from 'kysely';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { keepPrepared } from '#cli/keep-prepared';
import { keepDatabasePrivate } from '#cli/keep-private';

/** How long a writer waits for another before BUSY. */
const BUSY_TIMEOUT_MS = 10_000;

/** A dashboard that reads in one long transaction makes the WAL grow. Afterwards it is cut to this size; SQLite would keep it. */
const WAL_BYTES = 16 << 20;

/** Opens or creates a file that only its owner reads. A commit that returned survives a power failure. */
export const openSqlite = async (file: string): Promise<Dialect> => {
  await createDirectory(dirname(file), 0o700);
  keepDatabasePrivate(file);
  const database = new SQLite(file, { timeout: BUSY_TIMEOUT_MS });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma(`journal_size_limit = ${WAL_BYTES}`);
  keepPrepared(database);
  return dialectOf(database);
};

/** Opens an existing file for reading alone. */
export const openSqliteToRead = (file: string): Dialect =>
  dialectOf(new SQLite(file, { timeout: BUSY_TIMEOUT_MS, readonly: true, fileMustExist: true }));

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
