import type SQLite from 'better-sqlite3';

/** Prepared statements that are kept, and the longest text of one: those with many values differ from call to call. */
const MAX_PREPARED = 300;
const MAX_TEXT = 8192;

/**
 * From now on, `database.prepare` prepares each text once: better-sqlite3 compiles a function for the rows of each statement, which takes
 * five times as long as its execution. SQLite itself prepares a statement again after a change of the schema. Callers share a statement, so
 * none iterates, and `pluck` returns another one: it would change what the other callers of the same text get.
 */
export const keepPrepared = (database: SQLite.Database): void => {
  const known = new Map<string, SQLite.Statement>();
  const prepare = database.prepare.bind(database);
  const prepareOnce = (text: string): SQLite.Statement => {
    const before = known.get(text);
    if (before) return before;
    const statement = prepare(text);
    if (text.length > MAX_TEXT) return statement;
    let plucked: SQLite.Statement | undefined;
    statement.pluck = () => (plucked ??= prepare(text).pluck());
    const [oldest] = known.keys();
    if (known.size >= MAX_PREPARED && oldest !== undefined) known.delete(oldest);
    known.set(text, statement);
    return statement;
  };
  database.prepare = prepareOnce as SQLite.Database['prepare'];
};
