import type { FleetError } from '#bundles/errors';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { acquireLease, type LeaseApi } from './acquire-lease.ts';
import { keepLease } from './keep-lease.ts';
import type { LeaseOptions } from './lease-options.ts';
import { LEASE_TYPE, readRecord, released } from './lease-record.ts';

const RELEASE_MS = 3000;

/**
 * Runs `work` while this process holds the lease, then releases it. The signal of the work fires if the lease is lost or not renewed in
 * time; the rejection then has that reason.
 * @throws FleetError BUSY, API_UNREACHABLE, API_DENIED, ABORTED, or the error of the work
 */
export const withLease = async <T>(
  api: LeaseApi,
  options: LeaseOptions,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const taken = await acquireLease(api, options, signal);
  const done = new AbortController();
  const stop = new AbortController();
  let lost: FleetError | undefined;
  const keeping = keepLease(api, taken, options, done.signal).then((end) => {
    if (!('lost' in end)) return end.lease;
    lost = end.lost;
    stop.abort(end.lost);
    return undefined;
  });
  try {
    return await work(AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    // The work itself only reports ABORTED; the cause is the lost lease.
    if (lost && !signal.aborted) throw lost;
    throw error;
  } finally {
    done.abort();
    await releaseLease(api, await keeping, options);
  }
};

/** Releases the lease, best effort: a lease that is not released expires. A renewal without an answer may have been written. */
const releaseLease = async (
  api: LeaseApi,
  lease: LiveObject | undefined,
  { clock, holder }: LeaseOptions,
): Promise<void> => {
  if (!lease) return;
  const limit = AbortSignal.timeout(RELEASE_MS);
  const release = async (one: LiveObject): Promise<void> => {
    await api.replace(released(one, clock.now()), limit);
  };
  await release(lease).catch(async () => {
    const found = await api.read({ ...LEASE_TYPE, ...lease.metadata }, limit).catch(() => undefined);
    if (found && readRecord(found).holder === holder) await release(found).catch(() => {});
  });
};
