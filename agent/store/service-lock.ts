import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryExclusiveLock } from '#cli/exclusive-lock';

const lockFile = (directory: string): string => join(directory, 'service.db');

const RETRY_MS = 100;
/** A command that looks whether the daemon runs has the lock for a moment. */
const TRIES = 20;

/**
 * Takes the lock that a daemon holds while it runs on a state directory, so that commands can tell whether one does, also without
 * systemd and in another container. Returns undefined if another daemon has it: two may run, and take turns.
 */
export const holdServiceLock = async (directory: string): Promise<Disposable | undefined> => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const lock = tryLock(directory);
    if (lock) return lock;
    await sleep(RETRY_MS);
  }
  return undefined;
};

/**
 * Whether a daemon runs on this state directory: 'never' if none has run here yet, 'unknown' if this user may not look at the lock.
 */
export const serviceState = (directory: string): 'running' | 'stopped' | 'never' | 'unknown' => {
  if (!existsSync(lockFile(directory))) return 'never';
  try {
    using lock = tryExclusiveLock(lockFile(directory));
    return lock ? 'stopped' : 'running';
  } catch {
    return 'unknown';
  }
};

/** A full disk or a read-only state directory stops no daemon here; it reports its own faults. */
const tryLock = (directory: string): Disposable | undefined => {
  try {
    return tryExclusiveLock(lockFile(directory));
  } catch {
    return undefined;
  }
};
