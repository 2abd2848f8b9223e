import { setTimeout } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import { lockLayout } from './lock-layout.ts';

export type LockOptions = {
  /** What this process does, for whoever does not get the lock. */
  readonly command: string;
  readonly now: Date;
  readonly waitMs?: number | undefined;
};

/** The hub's commands hold a layout for milliseconds; who holds it for longer builds, and may do so for minutes. */
export const LOCK_WAIT_MS = 2_000;
const STEP_MS = 50;

/** The layout's lock, waited for. @throws FleetError BUSY naming the holder, those of lockLayout */
export const waitForLayout = async (
  directory: string,
  { command, now, waitMs = LOCK_WAIT_MS }: LockOptions,
): Promise<Disposable> => {
  for (let left = Math.ceil(waitMs / STEP_MS); ; left--) {
    try {
      return await lockLayout(directory, command, now);
    } catch (error) {
      if (left <= 0 || !isFleetError(error, 'BUSY')) throw error;
    }
    await setTimeout(STEP_MS);
  }
};
