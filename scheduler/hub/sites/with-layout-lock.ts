import { type LockOptions, waitForLayout } from '../../release/write/wait-for-layout.ts';

/** Longer than a small build takes, and short enough for a person who waits at a terminal. */
export const COMMAND_WAIT_MS = 15_000;

/**
 * Runs `work` under the layout's lock, so that index.json can be read, changed and written. The database has the data to be
 * written, so a command that did not get the lock can be run again.
 * @throws FleetError BUSY naming the holder
 */
export const withLayoutLock = async <T>(
  directory: string,
  { waitMs = COMMAND_WAIT_MS, ...options }: LockOptions,
  work: () => Promise<T>,
): Promise<T> => {
  using _ = await waitForLayout(directory, { waitMs, ...options });
  return await work();
};
