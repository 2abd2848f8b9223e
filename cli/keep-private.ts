import { chmodSync, closeSync, lstatSync, openSync, type Stats } from 'node:fs';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
const STICKY = 0o1000;

/** True if others than the owner, root and the process's own group may read or change it. */
export const isExposed = ({ mode, gid }: Pick<Stats, 'mode' | 'gid'>): boolean =>
  (mode & 0o007) !== 0 || ((mode & 0o070) !== 0 && gid !== process.getegid?.());

/** The files of the SQLite database `file`, including those that exist only while it is in use. */
export const databaseFiles = (file: string): readonly string[] =>
  ['', '-wal', '-shm', '-journal'].map((suffix) => `${file}${suffix}`);

/**
 * Creates the empty file of a database with mode 0600 if it does not exist; SQLite would create it by the umask. An existing
 * file is not opened, because closing it would release every lock that this process holds on it (sqlite.org/howtocorrupt.html,
 * section 2.2). Errors are ignored: SQLite fails next with an error that the caller reports.
 */
export const createPrivateFile = (file: string): void => {
  try {
    closeSync(openSync(file, 'wx', PRIVATE_FILE));
  } catch {}
};

/** As createPrivateFile, and removes the rights of others from an existing database. */
export const keepDatabasePrivate = (file: string): void => {
  createPrivateFile(file);
  for (const path of databaseFiles(file)) tighten(path, (stats) => stats.isFile(), PRIVATE_FILE);
};

/** Removes the rights of others from a directory, unless everybody shares it (/tmp). */
export const keepDirectoryPrivate = (directory: string): void =>
  tighten(directory, (stats) => stats.isDirectory() && (stats.mode & STICKY) === 0, PRIVATE_DIRECTORY);

/** Files of another user or on a read-only disk keep their mode; `doctor` reports them. */
const tighten = (path: string, isMeant: (stats: Stats) => boolean, mode: number): void => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats && isMeant(stats) && stats.uid === process.geteuid?.() && (stats.mode & 0o077) !== 0)
      chmodSync(path, mode);
  } catch {}
};
