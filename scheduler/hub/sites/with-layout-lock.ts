import { type LockOptions, waitForLayout } from '../../publish/wait-for-layout.ts';

/** A person waits: longer than a small build takes, and no longer than patience. */
const COMMAND_WAIT_MS = 15_000;

/**
 * Reads, changes and writes the layout's index while nobody else does. What was to be laid out stays in the database,
 * so a command that did not get the lock can be run again.
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
