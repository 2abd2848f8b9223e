import { open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, isFleetError } from '#bundles/errors';
import { IS_WINDOWS } from '#bundles/is-windows';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { explainGone } from '../plan/medium/explain-gone.ts';
import { isLock } from '../plan/medium/lock-file.ts';

export type MediumLock = AsyncDisposable & {
  /** @throws FleetError IO if the medium was removed or replaced */
  readonly check: () => Promise<void>;
  /** Keeps the lock file after the lock is released, because an unfinished export is to be resumed. */
  readonly begin: () => void;
  /** Removes the lock file with the lock, because nothing is unfinished. */
  readonly finish: () => void;
};

/**
 * Prevents a second export to the same medium. The kernel releases the lock when the process dies, on every file system. The empty lock
 * file is removed with the lock unless it existed before or an export is unfinished.
 * @param file path of the lock file @param medium name for messages @throws FleetError BUSY, MEDIUM_INVALID, PERMISSION, DISK_FULL, IO
 */
export const lockMedium = async (file: string, medium: string): Promise<MediumLock> => {
  // Loaded on demand, because only writers need it.
  const { tryExclusiveLock } = await import('#cli/exclusive-lock');
  let stays = await isLock(file);
  for (;;) {
    const before = await touch(file, medium);
    // A read-only file system has no writers; the caller finds out whether it has to write.
    if (before === undefined) return NO_LOCK;
    const lock = tryExclusiveLock(file);
    if (!lock) {
      throw new FleetError('BUSY', `another fleet-export writes to ${medium} now`, {
        hint: 'Wait until it has ended, and run this again',
      });
    }
    const isPresent = async (): Promise<boolean> => (await inodeOf(file)) === before;
    // The previous holder removed the file, so this lock is on a deleted file.
    if (await isPresent()) {
      return {
        check: async () => {
          if (!(await isPresent())) throw lockLostError(medium);
        },
        begin: () => {
          stays = true;
        },
        finish: () => {
          stays = false;
        },
        [Symbol.asyncDispose]: async () => {
          // Windows removes no file that SQLite has open, neither ours nor that of an export that gets the lock meanwhile.
          if (IS_WINDOWS) lock[Symbol.dispose]();
          if (!stays && (await isPresent()))
            await rm(file, { force: true })
              .then(() => syncDirectory(dirname(file)))
              .catch(() => {});
          if (!IS_WINDOWS) lock[Symbol.dispose]();
        },
      };
    }
    lock[Symbol.dispose]();
  }
};

/**
 * Runs `work` under the lock of a medium. If the medium was removed meanwhile, the error says so, regardless of the result of
 * `work`.
 * @param work gets the lock, to check whether the medium is still there
 * @throws FleetError BUSY, MEDIUM_INVALID, PERMISSION, DISK_FULL, IO, or the error of the work
 */
export const whileLocked = async <T>(
  file: string,
  medium: string,
  work: (lock: MediumLock) => Promise<T>,
): Promise<T> => {
  await using lock = await lockMedium(file, medium);
  try {
    const done = await work(lock);
    await lock.check();
    lock.finish();
    return done;
  } catch (error) {
    if (!isFleetError(error, 'ABORTED')) await lock.check();
    throw explainGone(error, `writing to ${medium}`);
  }
};

const NO_LOCK: MediumLock = {
  check: async () => {},
  begin: () => {},
  finish: () => {},
  [Symbol.asyncDispose]: async () => {},
};

const lockLostError = (medium: string): FleetError =>
  new FleetError('IO', `the medium at ${medium} was removed while it was written`, {
    hint: 'Plug the stick in again and run this again: it continues where it stopped',
  });

/** undefined on a read-only file system. */
const touch = async (file: string, medium: string): Promise<bigint | undefined> => {
  try {
    await createDirectory(dirname(file));
    await using handle = await open(file, 'a', 0o644);
    return (await handle.stat({ bigint: true })).ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') return undefined;
    throw explainGone(error, `writing to ${medium}`);
  }
};

const inodeOf = async (file: string): Promise<bigint | undefined> =>
  stat(file, { bigint: true }).then(
    ({ ino }) => ino,
    () => undefined,
  );
