import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#bundles/program/exclusive-lock';
import { formatTime, type Timestamp } from '#bundles/time';
import { fromSqliteError } from './state.ts';

/** Who has the lock, for the one who does not get it. */
type Holder = { readonly pid: number; readonly command: string; readonly since: Timestamp };

const RETRY_MS = 100;

/**
 * One agent process at a time changes a state directory. The lock is SQLite's own on an empty file, so the kernel lets
 * go of it when the process dies, however it dies.
 * @param command what the holder does, for the other's error message
 * @throws FleetError BUSY after `waitMs`, naming the holder
 */
export const acquireLock = async (
  directory: string,
  command: string,
  now: Date,
  { waitMs = 0, signal }: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
): Promise<Disposable> => {
  for (let waited = 0; ; waited += RETRY_MS) {
    const lock = tryLock(directory);
    if (lock) {
      writeHolder(directory, { pid: process.pid, command, since: formatTime(now) });
      return lock;
    }
    if (waited >= waitMs || signal?.aborted) throw busy(directory);
    await sleep(RETRY_MS);
  }
};

const tryLock = (directory: string): Disposable | undefined => {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return tryExclusiveLock(join(directory, 'lock.db'));
  } catch (error) {
    throw fromSqliteError(error, `locking ${directory}`, directory);
  }
};

const holderFile = (directory: string): string => join(directory, 'lock.json');

const writeHolder = (directory: string, holder: Holder): void =>
  writeFileSync(holderFile(directory), JSON.stringify(holder));

const busy = (directory: string): FleetError => {
  let who = 'another fleet-agent';
  try {
    const { pid, command, since } = JSON.parse(readFileSync(holderFile(directory), 'utf8')) as Holder;
    who = `fleet-agent ${command} (process ${pid}, since ${since})`;
  } catch {
    // Between its lock and its name: rare, and the message does without.
  }
  return new FleetError('BUSY', `${who} is at work in ${directory}`, {
    hint: 'Wait until it is done, or stop it; nothing is lost',
  });
};
