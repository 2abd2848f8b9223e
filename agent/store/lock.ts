import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#bundles/program/exclusive-lock';
import { formatTime, type Timestamp } from '#bundles/time';
import { fileId, type Place, placeOf } from './place.ts';
import { fromSqliteError } from './state.ts';

/** Who has the lock, for the one who does not get it. */
type Holder = {
  readonly pid: number;
  readonly command: string;
  readonly since: Timestamp;
  readonly place?: Place | undefined;
};

const RETRY_MS = 100;

/**
 * One agent process at a time changes a state directory. The lock is SQLite's own on an empty file, so the kernel lets
 * go of it when the process dies, however it dies.
 * @param command what the holder does, for the other's error message
 * @param options.bootId of this machine: gives the lock its place (placeHeld)
 * @throws FleetError BUSY after `waitMs`, naming the holder
 */
export const acquireLock = async (
  directory: string,
  command: string,
  now: Date,
  { waitMs = 0, signal, bootId }: LockOptions = {},
): Promise<Disposable> => {
  for (let waited = 0; ; waited += RETRY_MS) {
    const locked = fileId(lockFile(directory));
    const lock = tryLock(directory);
    if (lock) {
      const known = readHolder(directory)?.place;
      const place = bootId === undefined ? known : placeOf(known, bootId, lockFile(directory), locked);
      writeHolder(directory, { pid: process.pid, command, since: formatTime(now), place });
      return holding(lock, directory, bootId === undefined ? undefined : place);
    }
    if (waited >= waitMs || signal?.aborted) throw busy(directory);
    await sleep(RETRY_MS);
  }
};

type LockOptions = {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly bootId?: string;
};

/** Locks of this process, by directory. */
const held = new Map<string, string>();

/**
 * The id of the place (place.ts) of a lock that this process has now. Who finds it in what an earlier process left behind knows
 * that process dead or done. undefined: there is no lock, or nothing can be known.
 */
export const placeHeld = (directory: string): string | undefined => held.get(directory);

const holding = (lock: Disposable, directory: string, place: Place | undefined): Disposable => {
  if (place) held.set(directory, place.id);
  return {
    [Symbol.dispose]: () => {
      held.delete(directory);
      lock[Symbol.dispose]();
    },
  };
};

const tryLock = (directory: string): Disposable | undefined => {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return tryExclusiveLock(lockFile(directory));
  } catch (error) {
    throw fromSqliteError(error, `locking ${directory}`, directory);
  }
};

const lockFile = (directory: string): string => join(directory, 'lock.db');

const holderFile = (directory: string): string => join(directory, 'lock.json');

const writeHolder = (directory: string, holder: Holder): void =>
  writeFileSync(holderFile(directory), JSON.stringify(holder));

/** undefined between its lock and its name: rare, and all do without. */
const readHolder = (directory: string): Holder | undefined => {
  try {
    return (JSON.parse(readFileSync(holderFile(directory), 'utf8')) ?? undefined) as Holder | undefined;
  } catch {
    return undefined;
  }
};

const busy = (directory: string): FleetError => {
  const holder = readHolder(directory);
  const who = holder
    ? `fleet-agent ${holder.command} (process ${holder.pid}, since ${holder.since})`
    : 'another fleet-agent';
  return new FleetError('BUSY', `${who} is at work in ${directory}`, {
    hint: 'Wait until it is done, or stop it; nothing is lost',
  });
};
