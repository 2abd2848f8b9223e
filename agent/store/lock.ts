import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { fileId } from '#cli/file-id';
import { type LockHolder, nameLockHolder, readLockHolder, writeLockHolder } from '#cli/lock-holder';
import { createStateDirectory } from './create-state-directory.ts';
import { type Place, placeOf } from './place.ts';
import { fromSqliteError } from './state.ts';

type Holder = LockHolder & { readonly place?: Place | undefined };

const RETRY_MS = 100;
const ASK_AGAIN_MS = 1000;

/**
 * Acquires the lock under which one agent process at a time changes a state directory. It is SQLite's lock on an empty file, so
 * the kernel releases it whenever the process ends.
 * @param command command of this process, for the error message of other processes
 * @param options.bootId boot id of this machine; gives the lock its place (placeHeld)
 * @throws FleetError BUSY after `waitMs`, naming the holder
 */
export const acquireLock = async (
  directory: string,
  command: string,
  now: Date,
  { waitMs = 0, signal, bootId, onWait }: LockOptions = {},
): Promise<Disposable> => {
  for (let waited = 0; ; waited += RETRY_MS) {
    const locked = fileId(lockFile(directory));
    const lock = tryLock(directory);
    if (lock) {
      const known = readHolder(directory)?.place;
      const place = bootId === undefined ? known : placeOf(known, bootId, lockFile(directory), locked);
      const holder: Holder = { pid: process.pid, command, since: formatTime(now), place };
      writeLockHolder(holderFile(directory), holder);
      return holding(lock, directory, bootId === undefined ? undefined : place);
    }
    if (waited >= waitMs || signal?.aborted) throw busy(directory);
    if (waited % ASK_AGAIN_MS === 0) onWait?.();
    await sleep(RETRY_MS);
  }
};

type LockOptions = {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly bootId?: string;
  /**
   * Called when another process has the lock, and each second until it is free: the holder may have released and acquired it
   * again before this process looked.
   */
  readonly onWait?: () => void;
};

/** Place ids of the locks of this process, by directory. */
const held = new Map<string, string>();

/**
 * The id of the place (place.ts) of the lock that this process holds. An earlier holder that recorded the same id has died or
 * released the lock. Returns undefined without a lock, or if its place is unknown.
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
    createStateDirectory(directory);
    return tryExclusiveLock(lockFile(directory));
  } catch (error) {
    throw fromSqliteError(error, `locking ${directory}`, directory);
  }
};

const lockFile = (directory: string): string => join(directory, 'lock.db');

const holderFile = (directory: string): string => join(directory, 'lock.json');

const readHolder = (directory: string): Holder | undefined => readLockHolder(holderFile(directory));

const busy = (directory: string): FleetError =>
  new FleetError(
    'BUSY',
    `${nameLockHolder('fleet-agent', readHolder(directory))} is at work in ${directory}`,
    {
      hint: 'Wait until it is done, or stop it; nothing is lost',
    },
  );
