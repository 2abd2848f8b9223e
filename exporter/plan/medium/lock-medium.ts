import { lstat, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/formats/layout/make-directory';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { toldGone } from './gone.ts';

/** Beside a folder's own files; beside a tar it is the tar's name with this behind it. */
export const LOCK = '.lock';

export type MediumLock = AsyncDisposable & {
  /** @throws FleetError IO where another medium, or none, is at that place by now */
  readonly check: () => Promise<void>;
  /** Leaves the file where it is when the lock goes: what was begun here is ours, and shall be gone on with. */
  readonly begin: () => void;
  /** Takes the file away with the lock: nothing is half-done any more. */
  readonly finish: () => void;
};

/**
 * Keeps a second export off the same medium. The kernel lets go of the lock when the process dies, on every file system. The
 * empty file that it is on goes with the lock, unless it was there before or something was begun and not finished.
 * @param file of the lock @param medium for the message @throws FleetError BUSY, MEDIUM_INVALID, PERMISSION, DISK_FULL, IO
 */
export const lockMedium = async (file: string, medium: string): Promise<MediumLock> => {
  // Only who writes needs it.
  const { tryExclusiveLock } = await import('#cli/exclusive-lock');
  let stays = await isLock(file);
  for (;;) {
    const before = await touch(file, medium);
    // Nobody writes there; whether there is anything to write is for the writer to find.
    if (before === undefined) return NO_LOCK;
    const lock = tryExclusiveLock(file);
    if (!lock) {
      throw new FleetError('BUSY', `another fleet-export writes to ${medium} now`, {
        hint: 'Wait until it has ended, and run this again',
      });
    }
    const isThere = async (): Promise<boolean> => (await inodeOf(file)) === before;
    // The previous holder removed the file: then this lock is on a file that nobody will look at.
    if (await isThere()) {
      return {
        check: async () => {
          if (!(await isThere())) throw takenAway(medium);
        },
        begin: () => {
          stays = true;
        },
        finish: () => {
          stays = false;
        },
        [Symbol.asyncDispose]: async () => {
          if (!stays && (await isThere()))
            await rm(file, { force: true })
              .then(() => syncDirectory(dirname(file)))
              .catch(() => {});
          lock[Symbol.dispose]();
        },
      };
    }
    lock[Symbol.dispose]();
  }
};

/**
 * Writes to a medium that nobody else writes to meanwhile. Where it was taken away that is what is wrong, whatever the system
 * called it, and even if nothing else seems to be.
 * @param work with what says whether the medium is still there @throws FleetError of lockMedium and of the work
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
    throw toldGone(error, `writing to ${medium}`);
  }
};

const NO_LOCK: MediumLock = {
  check: async () => {},
  begin: () => {},
  finish: () => {},
  [Symbol.asyncDispose]: async () => {},
};

const takenAway = (medium: string): FleetError =>
  new FleetError('IO', `what was at ${medium} is not there any more`, {
    hint: 'Plug the stick in again and run this again: it goes on where it stopped',
  });

/** Left behind by a killed run, or held. @throws FleetError MEDIUM_INVALID for a file of somebody else's; PERMISSION, IO */
export const isLock = async (file: string): Promise<boolean> => {
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `looking at ${file}`);
  });
  if (found === undefined || (found.isFile() && found.size === 0)) return found !== undefined;
  throw new FleetError('MEDIUM_INVALID', `${file} is there and was not put there by this program`, {
    hint: 'Move it away, or use another place; it is left as it is',
  });
};

/** Undefined on a read-only file system. */
const touch = async (file: string, medium: string): Promise<bigint | undefined> => {
  try {
    await makeDirectory(dirname(file));
    await using handle = await open(file, 'a', 0o644);
    return (await handle.stat({ bigint: true })).ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') return undefined;
    throw toldGone(error, `writing to ${medium}`);
  }
};

const inodeOf = async (file: string): Promise<bigint | undefined> =>
  stat(file, { bigint: true }).then(
    ({ ino }) => ino,
    () => undefined,
  );
