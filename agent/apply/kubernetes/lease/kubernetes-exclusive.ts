import { randomBytes } from 'node:crypto';
import { type FleetError, isFleetError } from '#bundles/errors';
import type { Target } from '../../../model/target.ts';
import { systemClock } from '../watch/clock.ts';
import type { LeaseApi } from './acquire-lease.ts';
import { type Contender, LEASE_TIMES, type LeaseOptions } from './lease-options.ts';
import { leaseName } from './lease-record.ts';
import { createSharedLease } from './shared-lease.ts';

/** How long a BUSY result is reused: a look asks once for each package. */
const BUSY_MS = 10_000;

/** `Target.exclusive` of a cluster: the lease `fleet-agent-<fleet>` lets one agent of a fleet change it at a time. Operations of this agent share it. */
export const kubernetesExclusive = (
  api: () => Promise<LeaseApi>,
  contender: Contender & { readonly fleet: string },
  times: Partial<LeaseOptions> = {},
): NonNullable<Target['exclusive']> => {
  const { namespace, who, fleet } = contender;
  const name = leaseName(fleet);
  const options = { ...LEASE_TIMES, clock: systemClock, namespace, name, ...times };
  const { clock } = options;
  const shared = createSharedLease();
  const ourselves = randomBytes(8).toString('hex');
  let busy: { readonly error: FleetError; readonly at: number } | undefined;
  return async (signal, work) => {
    if (busy && clock.elapsedMs() - busy.at < BUSY_MS) throw busy.error;
    try {
      // Read each time: the lock is held for one piece of work, and after another boot its place may differ.
      const place = contender.place();
      const holder = `${who}, ${place ?? ourselves}`;
      return await shared(api, { ...options, holder, place }, signal, work);
    } catch (error) {
      if (isFleetError(error, 'BUSY')) busy = { error, at: clock.elapsedMs() };
      throw error;
    }
  };
};
