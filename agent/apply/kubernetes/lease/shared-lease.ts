import type { LeaseApi } from './acquire-lease.ts';
import type { LeaseOptions } from './lease-options.ts';
import { withLease } from './with-lease.ts';

/** The lease while pieces of work have it. */
type Held = {
  /** Resolves with the signal that fires when the lease is lost. */
  readonly taken: Promise<AbortSignal>;
  /** Resolves when the lease is released. */
  readonly ended: Promise<void>;
  readonly release: () => void;
  users: number;
};

/**
 * Runs each piece of work while this process holds the lease. Those under way at the same time share it: the first takes it, and the last
 * releases it. All of them end with its reason when it is lost.
 */
export const createSharedLease = () => {
  let held: Held | undefined;
  let last: Promise<void> = Promise.resolve();

  const take = (api: () => Promise<LeaseApi>, options: LeaseOptions, signal: AbortSignal): Held => {
    const taken = Promise.withResolvers<AbortSignal>();
    const done = Promise.withResolvers<void>();
    const before = last;
    const hold = async (): Promise<void> => {
      await before;
      await withLease(await api(), options, signal, async (within) => {
        taken.resolve(within);
        await done.promise;
      });
    };
    // Errors reach the pieces of work by `taken`.
    last = hold().catch(taken.reject);
    return { taken: taken.promise, ended: last, release: done.resolve, users: 0 };
  };

  /** @throws FleetError BUSY, API_UNREACHABLE, API_DENIED, ABORTED, or the error of the work */
  return async <T>(
    api: () => Promise<LeaseApi>,
    options: LeaseOptions,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    held ??= take(api, options, signal);
    const mine = held;
    mine.users += 1;
    let within: AbortSignal | undefined;
    try {
      within = await mine.taken;
      return await work(AbortSignal.any([signal, within]));
    } catch (error) {
      // The work itself only reports ABORTED; the cause is the lost lease.
      if (within?.aborted && !signal.aborted) throw within.reason;
      throw error;
    } finally {
      mine.users -= 1;
      if (mine.users === 0) {
        if (held === mine) held = undefined;
        mine.release();
        await mine.ended;
      }
    }
  };
};
