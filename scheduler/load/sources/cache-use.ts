import { randomUUID } from 'node:crypto';
import { renameSync, type Stats, statSync, utimesSync } from 'node:fs';
import { access, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { tryExclusiveLock } from '#cli/exclusive-lock';

/** A mark younger than this is not renewed. Entries are deleted only when theirs is at least twice as old. */
const RENEW_MS = 1_800_000;
const PAUSE_MS = 5;
/** The lock is held for single calls of the file system. A process that was stopped while it held it is not waited for. */
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Records by its modification time that an entry of the cache is used, so that no process deletes it while it is read. The times of
 * files are those of the machine's clock, so this one is too.
 * @returns false if the entry does not exist
 */
export const markUsed = async (cacheDirectory: string, entry: string): Promise<boolean> => {
  const found = statusOf(entry);
  if (!found) return false;
  if (Math.abs(Date.now() - found.mtimeMs) < RENEW_MS) return true;
  const marked = await locked(cacheDirectory, () => {
    const now = new Date();
    utimesSync(entry, now, now);
  });
  // In a cache that this process may not write, the entry is used without a mark.
  return marked === 'done' || (await exists(entry));
};

const statusOf = (entry: string): Stats | undefined => {
  try {
    return statSync(entry, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/**
 * Deletes an entry that was not used for `unusedMs`, at least an hour. It disappears at once: a reader finds all of a folder or
 * nothing.
 */
export const removeUnused = async (
  cacheDirectory: string,
  entry: string,
  { now, unusedMs }: { readonly now: Date; readonly unusedMs: number },
): Promise<void> => {
  const isUnused = (mtimeMs: number): boolean => now.getTime() - mtimeMs >= unusedMs;
  const found = await stat(entry).catch(() => undefined);
  if (!found || !isUnused(found.mtimeMs)) return;
  const gone = join(dirname(entry), `.unused-${randomUUID()}`);
  const moved = await locked(cacheDirectory, () => {
    if (isUnused(statSync(entry).mtimeMs)) renameSync(entry, gone);
  });
  // What another user left, or a process still writes to, is tried again by the next build.
  if (moved === 'done') await rm(gone, { recursive: true, force: true }).catch(() => undefined);
};

export const exists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Runs `work` while no other process marks or removes entries of this cache. 'failed': the file system refused, or the lock stayed held. */
const locked = async (cacheDirectory: string, work: () => void): Promise<'done' | 'failed'> => {
  const until = performance.now() + LOCK_TIMEOUT_MS;
  try {
    while (performance.now() < until) {
      using lock = tryExclusiveLock(join(cacheDirectory, 'use.lock'));
      if (!lock) {
        await setTimeout(PAUSE_MS);
        continue;
      }
      work();
      return 'done';
    }
  } catch {
    return 'failed';
  }
  return 'failed';
};
