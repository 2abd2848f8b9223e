import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import SQLite from 'better-sqlite3';
import { type Dialect, type Driver, type SqliteDatabase, SqliteDialect } from 'kysely';
import { FleetError, toFleetError } from '#bundles/errors';
import { keepDatabasePrivate } from '#cli/keep-private';

/** How long a writer waits for another before BUSY. */
const BUSY_TIMEOUT_MS = 10_000;

/** Opens or creates a file that only its owner reads. A commit that returned survives a power failure. */
export const openSqlite = async (file: string): Promise<Dialect> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  keepDatabasePrivate(file);
  const database = new SQLite(file, { timeout: BUSY_TIMEOUT_MS });
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  return dialectOf(database);
};

/**
 * A dialect that rolls back only an open transaction. A full disk ends the transaction (SQLite, "Response To Errors Within A
 * Transaction"); another rollback would fail and hide the cause.
 */
const dialectOf = (database: SQLite.Database): Dialect => {
  const dialect = new SqliteDialect({ database: withPrepared(database) });
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

/** Prepared statements that are kept, and the longest text of one: those with many values differ from call to call. */
const MAX_PREPARED = 300;
const MAX_TEXT = 8192;

/** Prepares each statement once. SQLite itself prepares it again after a change of the schema. */
const withPrepared = (database: SQLite.Database): SqliteDatabase => {
  const known = new Map<string, SQLite.Statement>();
  return {
    close: () => void database.close(),
    prepare: (text) => {
      const before = known.get(text);
      if (before) return before;
      const statement = database.prepare(text);
      if (text.length > MAX_TEXT) return statement;
      const [oldest] = known.keys();
      if (known.size >= MAX_PREPARED && oldest !== undefined) known.delete(oldest);
      known.set(text, statement);
      return statement;
    },
  };
};

/** Maps SQLite's errors to FleetError codes. */
export const sqliteError = (error: unknown, doing: string): FleetError => {
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
