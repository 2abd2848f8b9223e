import { parseTime } from '../time.ts';
import type { TrustRoot } from '../trust/root.ts';
import type { AcceptedLease } from './judge-lease.ts';
import { nextTimeFloor } from './next-time-floor.ts';

/** The time floor with what a lease proves: it is signed evidence of time like any other statement. */
export const leaseTime = (
  floor: Date | undefined,
  root: TrustRoot,
  lease: AcceptedLease | undefined,
): Date | undefined => (lease ? nextTimeFloor(floor, root, parseTime(lease.predicate.issuedAt)) : floor);
