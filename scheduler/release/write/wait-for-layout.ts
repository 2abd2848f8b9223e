import { setTimeout } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import { lockLayout } from './lock-layout.ts';
import { RESTORE, refuseUnfinishedRestore } from './unfinished-restore.ts';

export type LockOptions = {
  /** Description of this process, for processes that wait for the lock. */
  readonly command: string;
  readonly now: Date;
  readonly waitMs?: number | undefined;
};

/** Long enough for the hub's commands, which hold the lock for milliseconds. A build holds it for minutes: not worth waiting. */
export const LOCK_WAIT_MS = 2_000;
const STEP_MS = 50;

/**
 * Takes the layout's lock, retrying for `waitMs`.
 * @throws FleetError BUSY naming the holder; LAYOUT_INVALID if a restore of the layout did not end; PERMISSION, IO, DISK_FULL
 */
export const waitForLayout = async (
  directory: string,
  { command, now, waitMs = LOCK_WAIT_MS }: LockOptions,
): Promise<Disposable> => {
  for (let left = Math.ceil(waitMs / STEP_MS); ; left--) {
    try {
      const lock = await lockLayout(directory, command, now);
      if (command === RESTORE) return lock;
      try {
        await refuseUnfinishedRestore(directory);
        return lock;
      } catch (error) {
        lock[Symbol.dispose]();
        throw error;
      }
    } catch (error) {
      if (left <= 0 || !isFleetError(error, 'BUSY')) throw error;
    }
    await setTimeout(STEP_MS);
  }
};
