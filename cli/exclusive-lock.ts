import SQLite from 'better-sqlite3';
import { createPrivateFile } from './keep-private.ts';

/**
 * Takes SQLite's lock on an empty file. The kernel releases it when the process ends for any reason. The file is private to its
 * owner, because another user who opened it could block the lock.
 * @returns undefined while another process holds it @throws SqliteError if the file cannot be created or opened
 */
export const tryExclusiveLock = (file: string): Disposable | undefined => {
  createPrivateFile(file);
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
