import { readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { FleetError, toFleetError } from '#bundles/errors';
import { type BlobDirectory, openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { fileId } from '#cli/file-id';
import { keepPrepared } from '#cli/keep-prepared';
import { keepDatabasePrivate, keepDirectoryPrivate } from '#cli/keep-private';
import { readUser } from '../model/edge.ts';
import { createStateDirectory } from './create-state-directory.ts';
import { MIGRATIONS, USABLE_FROM } from './migrations.ts';

/** The persistent state of an agent: one SQLite file and a directory of blobs. */
export type State = Disposable & {
  readonly directory: string;
  readonly db: Database.Database;
  readonly blobs: BlobDirectory;
  /** True if the database was removed or replaced since it was opened: SQLite continues with the removed file. */
  readonly isMoved: () => boolean;
};

/** Path of the database, which exists from enrolment on. */
export const stateFile = (directory: string): string => join(directory, 'state.db');

/**
 * Opens the state directory, or creates it with `create`, accessible to the agent's user only, and migrates its schema.
 * @throws FleetError NOT_ENROLLED when there is no database, AGENT_TOO_OLD, STORE_CORRUPT, PERMISSION
 */
export const openState = (directory: string, { create = false } = {}): State => {
  const file = stateFile(directory);
  if (!create && !exists(file)) throw notEnrolled(directory);
  try {
    createStateDirectory(directory);
    keepDirectoryPrivate(directory);
    keepDatabasePrivate(file);
    // Read before the database is opened: if it is replaced in between, isMoved notices that.
    const before = fileId(file);
    const db = openDatabase(file);
    const opened = before ?? fileId(file);
    return { ...stateOn(db, directory), isMoved: () => fileId(file) !== opened };
  } catch (error) {
    throw unreadable(fromSqliteError(error, `opening ${file}`, directory), directory);
  }
};

/**
 * A copy in memory of the state on a disk that is full: SQLite reads a database in WAL mode only if it can make files beside it. Changes are lost,
 * so it is for commands that only read. @returns undefined if the file alone does not have all that was written
 */
export const copyState = (directory: string): State | undefined => {
  const file = stateFile(directory);
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return undefined;
  return stateOn(inMemory(readFileSync(file), file), directory);
};

/** A copy in memory of an open state, for work whose changes are to be lost. Its blobs are those of the state itself. */
export const scratchState = (state: State): State =>
  stateOn(inMemory(state.db.serialize(), stateFile(state.directory)), state.directory);

const inMemory = (bytes: Buffer, file: string): Database.Database => {
  // The file format's write and read version: 1 is a rollback journal, which memory has; 2 is WAL.
  bytes.fill(1, 18, 20);
  const db = new Database(bytes);
  migrate(db, file);
  keepPrepared(db);
  return db;
};

const stateOn = (db: Database.Database, directory: string): State => ({
  directory,
  db,
  blobs: openBlobDirectory(directory, 'the store'),
  isMoved: () => false,
  [Symbol.dispose]: () => {
    db.close();
  },
});

const openDatabase = (file: string): Database.Database => {
  const db = new Database(file, { timeout: 5000 });
  try {
    // KiB of pages that a sleeping process keeps, of which the kernel has copies: better-sqlite3's default is 16 MB. It saves 0.8 MiB with 1,000 objects.
    db.pragma('cache_size = -512');
    // FULL: the journal of an unfinished step must survive a power cut.
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    migrate(db, file);
    keepPrepared(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

/** Tells an unreadable directory from one without an agent. @throws FleetError PERMISSION */
const exists = (file: string): boolean => {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw unreadable(toFleetError(error, `looking for ${file}`), dirname(file));
  }
};

const unreadable = (error: FleetError, directory: string): FleetError => {
  if (error.code !== 'PERMISSION' || process.geteuid?.() === 0) return error;
  return new FleetError(
    'PERMISSION',
    `the state in ${directory} cannot be read or written as user ${readUser()}`,
    { cause: error, hint: 'Run the command with sudo, or as the user that the agent runs as' },
  );
};

export const notEnrolled = (directory: string): FleetError =>
  new FleetError('NOT_ENROLLED', `no agent is enrolled in ${directory}`, {
    hint: 'Start with "fleet-agent enroll", see --help',
  });

const migrate = (db: Database.Database, file: string): void => {
  const version = Number(db.pragma('user_version', { simple: true }));
  const usableFrom = Number(db.pragma('application_id', { simple: true }));
  if (version === MIGRATIONS.length && usableFrom === USABLE_FROM) return;
  if (version > MIGRATIONS.length) {
    // A database of an agent that did not record it yet has 0.
    if (usableFrom > 0 && usableFrom <= MIGRATIONS.length) return;
    throw new FleetError(
      'AGENT_TOO_OLD',
      `${file} was written by a newer agent (schema ${version}, this one knows ${MIGRATIONS.length})`,
      { hint: 'Update the agent' },
    );
  }
  const run = db.transaction(() => {
    // Another process may have migrated in the meantime.
    const done = Number(db.pragma('user_version', { simple: true }));
    for (const sql of MIGRATIONS.slice(done)) db.exec(sql);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
    db.pragma(`application_id = ${USABLE_FROM}`);
  });
  run.immediate();
};

/** Below this much free space, SQLite may be unable to open a database. */
const MIN_FREE_BYTES = 256 << 10;

/** Below this number of free inodes SQLite may be unable to create the files beside a database. */
const MIN_FREE_INODES = 8;

/** Bytes that an unprivileged process may still write to the disk of a directory; 0 where the disk has no inodes left for files. */
export const freeBytesIn = (directory: string): number => {
  const { bavail, bsize, files, ffree } = statfsSync(directory);
  // File systems that create inodes on demand, such as btrfs, count none.
  return files > 0 && ffree < MIN_FREE_INODES ? 0 : bavail * bsize;
};

/** True if the disk is too full for the agent to record anything. */
export const isFull = (directory: string): boolean => freeBytesIn(directory) < MIN_FREE_BYTES;

/** An older copy of the directory is no way out: its events would contradict those that the office has. */
export const LOST_STATE =
  'Move the state directory away and enrol this agent again; the office replaces its key, and the next import adopts what runs';

/** As toFleetError; an error of SQLite gets what it means for a state directory: a full disk, and the way out of a damaged one. */
export const fromSqliteError = (error: unknown, doing: string, directory?: string): FleetError => {
  const found = toFleetError(error, doing);
  const { code, message, cause, hint } = found;
  if (!(cause instanceof Database.SqliteError)) return found;
  // On a disk too full for the files beside it, SQLite reports an I/O error, or only that it cannot open the database.
  if ((code === 'IO' || code === 'PERMISSION') && directory !== undefined && isFull(directory)) {
    return new FleetError('DISK_FULL', `the disk of ${directory} is full`, {
      cause,
      hint: 'Free some space (df), or inodes (df -i), and run it again; nothing was lost',
    });
  }
  return code === 'STORE_CORRUPT' && hint === undefined
    ? new FleetError(code, message, { cause, hint: LOST_STATE })
    : found;
};
