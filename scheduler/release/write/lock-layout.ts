import { rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { TEMPORARY } from '#bundles/formats/layout/write-file';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { nameLockHolder, readLockHolder, writeLockHolder } from '#cli/lock-holder';
import { formatTime } from '#bundles/time';

const LOCK = '.fleet-scheduler.lock';
const HOLDER = '.fleet-scheduler.json';

/**
 * Locks a layout for writing. Release numbers follow the newest release found, so two concurrent writers would use the same
 * number. The lock is SQLite's file lock on an empty file, which the kernel releases when the process ends for any reason.
 * Temporary files that a killed process left behind are removed.
 * @param command the command of this process, for the error message of others
 * @returns releases the lock when disposed
 * @throws FleetError BUSY naming the holder; PERMISSION, IO, DISK_FULL
 */
export const lockLayout = async (directory: string, command: string, now: Date): Promise<Disposable> => {
  try {
    await createDirectory(directory);
    const lock = tryExclusiveLock(join(directory, LOCK));
    if (!lock) throw busy(directory);
    const holder = join(directory, HOLDER);
    try {
      if (readLockHolder(holder)) await removeTemporaryFiles(directory);
      writeLockHolder(holder, { pid: process.pid, command, since: formatTime(now) });
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
    return {
      [Symbol.dispose]: () => {
        rmSync(holder, { force: true });
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    throw lockError(error, directory);
  }
};

/** Removes temporary files of a process that was killed. Safe because the caller holds the lock. */
const removeTemporaryFiles = async (directory: string): Promise<void> => {
  for (const folder of [directory, join(directory, 'blobs', 'sha256')]) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (name.startsWith(TEMPORARY)) await rm(join(folder, name), { force: true });
  }
};

/** The holder may have taken the lock and not yet written its name. */
const busy = (directory: string): FleetError => {
  const who = nameLockHolder('fleet-scheduler', readLockHolder(join(directory, HOLDER)));
  return new FleetError('BUSY', `${who} is writing to ${directory}`, {
    hint: 'Wait until it is done, then run this again',
  });
};

const lockError = (error: unknown, directory: string): FleetError => {
  const doing = `locking ${directory}`;
  if (!(error instanceof SQLite.SqliteError)) return toFleetError(error, doing);
  if (/^SQLITE_(?:CANTOPEN|READONLY|PERM|AUTH)/.test(error.code))
    return new FleetError('PERMISSION', `${directory} cannot be written: ${error.message}`, { cause: error });
  if (error.code === 'SQLITE_FULL') return toFleetError(error, doing);
  return new FleetError('IO', `${doing}: ${error.message}`, { cause: error });
};
