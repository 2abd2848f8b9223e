import { FleetError, isFleetError } from '#bundles/errors';
import type { Store } from '../store/open-store.ts';

type Refusal = { readonly message: string; readonly at: number };

/** The last report of each hub that was refused for lack of space, until one is stored. */
const refusals = new WeakMap<Store, Refusal>();

/** After this time the hub is asked again: without reports, which a load balancer sends elsewhere, nothing would show that there is room. */
const REMEMBERED_MS = 60_000;

/** Runs the write of a report and remembers whether the disk had room for it. */
export const noteRoom = async <T>(store: Store, clock: () => Date, write: () => Promise<T>): Promise<T> => {
  try {
    const stored = await write();
    refusals.delete(store);
    return stored;
  } catch (error) {
    if (isFleetError(error, 'DISK_FULL'))
      refusals.set(store, { message: error.message, at: clock().getTime() });
    throw error;
  }
};

/**
 * Checks that no report was refused for lack of space in the last minute. What is left of a full disk may have room for the small write
 * of a readiness check.
 * @throws FleetError DISK_FULL
 */
export const checkRoom = (store: Store, now: Date): void => {
  const refusal = refusals.get(store);
  if (!refusal || now.getTime() - refusal.at >= REMEMBERED_MS) return;
  throw new FleetError('DISK_FULL', refusal.message);
};
