import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { TEMPORARY } from '#bundles/layout/write-file';
import { tryExclusiveLock } from '#bundles/program/exclusive-lock';
import { formatTime } from '#bundles/time';

/** Who has the lock, for the one who does not get it. */
type Holder = { readonly pid: number; readonly command: string; readonly since: string };

const LOCK = '.fleet-scheduler.lock';
const HOLDER = '.fleet-scheduler.json';

/**
 * One scheduler at a time adds releases to a layout: each counts on from the ones it finds, and two would both be
 * number 8. The lock is SQLite's own on an empty file, so the kernel lets go of it when the process dies, however it
 * dies; what such a process was writing is removed here.
 * @param command what the holder does, for the other's error message
 * @throws FleetError BUSY naming the holder; PERMISSION, IO, DISK_FULL
 */
export const lockLayout = async (directory: string, command: string, now: Date): Promise<Disposable> => {
  try {
    await makeDirectory(directory);
    const lock = tryExclusiveLock(join(directory, LOCK));
    if (!lock) throw busy(directory);
    const holder = join(directory, HOLDER);
    try {
      if (readHolder(directory)) await removeRests(directory);
      const told: Holder = { pid: process.pid, command, since: formatTime(now) };
      writeFileSync(holder, JSON.stringify(told));
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

/** Files that a process which is dead now was writing; nobody else writes while we have its lock. */
const removeRests = async (directory: string): Promise<void> => {
  for (const folder of [directory, join(directory, 'blobs', 'sha256')]) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (name.startsWith(TEMPORARY)) await rm(join(folder, name), { force: true });
  }
};

const readHolder = (directory: string): Holder | undefined => {
  try {
    return JSON.parse(readFileSync(join(directory, HOLDER), 'utf8')) as Holder;
  } catch {
    return undefined;
  }
};

const busy = (directory: string): FleetError => {
  // Between its lock and its name: rare, and the message does without.
  const holder = readHolder(directory);
  const who = holder
    ? `fleet-scheduler ${holder.command} (process ${holder.pid}, since ${holder.since})`
    : 'another fleet-scheduler';
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
