import { randomBytes } from 'node:crypto';
import { type FleetError, isFleetError } from '#bundles/errors';
import type { Target } from '../../../model/target.ts';
import { systemClock } from '../watch/clock.ts';
import type { LeaseApi } from './acquire-lease.ts';
import { type Contender, LEASE_TIMES, type LeaseOptions } from './lease-options.ts';
import { withLease } from './with-lease.ts';

/** A look asks for each of its packages: while another agent is at work, the answer of the first one serves all. */
const BUSY_MS = 10_000;

/** `Target.exclusive` of a cluster: one agent of a fleet at a time changes it, by the lease `fleet-agent-<fleet>`. */
export const kubernetesExclusive = (
  api: () => Promise<LeaseApi>,
  contender: Contender & { readonly fleet: string },
  times: Partial<LeaseOptions> = {},
): NonNullable<Target['exclusive']> => {
  const { namespace, who, fleet } = contender;
  const name = `fleet-agent-${fleet}`;
  const options = { ...LEASE_TIMES, clock: systemClock, namespace, name, ...times };
  const { clock } = options;
  const ourselves = randomBytes(8).toString('hex');
  let busy: { readonly error: FleetError; readonly at: number } | undefined;
  return async (signal, work) => {
    if (busy && clock.elapsedMs() - busy.at < BUSY_MS) throw busy.error;
    try {
      // Asked each time: a lock is had for one piece of work, and another boot may have had the directory in between.
      const place = contender.place();
      const holder = `${who}, ${place ?? ourselves}`;
      return await withLease(await api(), { ...options, holder, place }, signal, work);
    } catch (error) {
      if (isFleetError(error, 'BUSY')) busy = { error, at: clock.elapsedMs() };
      throw error;
    }
  };
};
