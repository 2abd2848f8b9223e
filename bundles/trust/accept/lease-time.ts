import { parseTime } from '../../time.ts';
import type { TrustRoot } from '../root/root.ts';
import type { AcceptedLease } from './judge-lease.ts';
import { nextTimeFloor } from './next-time-floor.ts';

/** The time floor, raised to the signed time of a lease. */
export const leaseTime = (
  floor: Date | undefined,
  root: TrustRoot,
  lease: AcceptedLease | undefined,
): Date | undefined => (lease ? nextTimeFloor(floor, root, parseTime(lease.predicate.issuedAt)) : floor);
