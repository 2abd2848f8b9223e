import SQLite from 'better-sqlite3';
import { makePrivateFile } from './keep-private.ts';

/**
 * SQLite's own lock on an empty file: the kernel lets go of it when the process dies, however it dies.
 * Nobody else may open the file, or could keep the lock from us by reading it.
 * @returns undefined while another process has it @throws SqliteError for a file that cannot be made or opened
 */
export const tryExclusiveLock = (file: string): Disposable | undefined => {
  makePrivateFile(file);
  const db = new SQLite(file, { timeout: 0 });
  try {
    // Nothing is ever written to it; a journal beside it would stay behind when the process is killed.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (error instanceof SQLite.SqliteError && error.code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      db.close();
    },
  };
};
