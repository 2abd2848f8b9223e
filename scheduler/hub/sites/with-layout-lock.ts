import { setTimeout } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import { lockLayout } from '../../publish/lock-layout.ts';

/** How long a command waits for another that writes to the layout; a build of a large fleet takes longer. */
const LOCK_WAIT_MS = 15_000;
const STEP_MS = 50;

export type LockOptions = {
  /** What this process does, for whoever does not get the lock. */
  readonly command: string;
  readonly now: Date;
  readonly waitMs?: number | undefined;
};

/**
 * Reads, changes and writes the layout's index while nobody else does. What was to be laid out stays in the database,
 * so a command that did not get the lock can be run again.
 * @throws FleetError BUSY naming the holder
 */
export const withLayoutLock = async <T>(
  directory: string,
  { command, now, waitMs = LOCK_WAIT_MS }: LockOptions,
  work: () => Promise<T>,
): Promise<T> => {
  using _ = await waitForLock(directory, command, now, Math.ceil(waitMs / STEP_MS));
  return await work();
};

const waitForLock = async (
  directory: string,
  command: string,
  now: Date,
  tries: number,
): Promise<Disposable> => {
  for (let left = tries; ; left--) {
    try {
      return await lockLayout(directory, command, now);
    } catch (error) {
      if (left <= 0 || !isFleetError(error, 'BUSY')) throw error;
    }
    await setTimeout(STEP_MS);
  }
};
