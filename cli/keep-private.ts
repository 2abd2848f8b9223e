import { chmodSync, closeSync, lstatSync, openSync, type Stats } from 'node:fs';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
const STICKY = 0o1000;

/** Others than the owner, root and the process's own group may read or change it. */
export const isExposed = ({ mode, gid }: Pick<Stats, 'mode' | 'gid'>): boolean =>
  (mode & 0o007) !== 0 || ((mode & 0o070) !== 0 && gid !== process.getegid?.());

/** The files of the SQLite database `file`, those that are there only while it is in use included. */
export const databaseFiles = (file: string): readonly string[] =>
  ['', '-wal', '-shm', '-journal'].map((suffix) => `${file}${suffix}`);

/**
 * Makes the file of a database, empty and for its owner alone, where there is none: SQLite would make it as the umask says. An existing
 * one is not opened, as closing it would end every lock that this process has on it (sqlite.org/howtocorrupt.html, section 2.2).
 * What fails here fails for SQLite next, whose error the caller has words for.
 */
export const makePrivateFile = (file: string): void => {
  try {
    closeSync(openSync(file, 'wx', PRIVATE_FILE));
  } catch {}
};

/** As makePrivateFile, and takes the rights of others away from a database that is there. */
export const keepDatabasePrivate = (file: string): void => {
  makePrivateFile(file);
  for (const path of databaseFiles(file)) tighten(path, (stats) => stats.isFile(), PRIVATE_FILE);
};

/** Takes the rights of others away from a directory, unless it is one that everybody shares (/tmp). */
export const keepDirectoryPrivate = (directory: string): void =>
  tighten(directory, (stats) => stats.isDirectory() && (stats.mode & STICKY) === 0, PRIVATE_DIRECTORY);

/** What belongs to another user, or lies on a disk that cannot be written, stays as it is: `doctor` finds it. */
const tighten = (path: string, isMeant: (stats: Stats) => boolean, mode: number): void => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats && isMeant(stats) && stats.uid === process.geteuid?.() && (stats.mode & 0o077) !== 0)
      chmodSync(path, mode);
  } catch {}
};
