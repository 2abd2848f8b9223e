import type { LeasePredicate } from '../../formats/statements/predicates.ts';
import { parseTime } from '../../time.ts';

/**
 * Whether a lease is live: it has not expired and is not older than the freshness that the site statement requires.
 * @param seconds required freshness; undefined when none is required
 */
export const isLiveLease = (
  { issuedAt, expires }: Pick<LeasePredicate, 'issuedAt' | 'expires'>,
  time: Date,
  seconds?: number,
): boolean => time.getTime() < leaseEnd({ issuedAt, expires }, seconds).getTime();

/** Time from which a statement issued at `issued` is older than `seconds`. The last second still counts: t - issued <= n. */
export const validUntil = (issued: Date, seconds: number): Date =>
  new Date(issued.getTime() + seconds * 1000 + 1);

/** From when on it is not live any more. */
export const leaseEnd = (
  { issuedAt, expires }: Pick<LeasePredicate, 'issuedAt' | 'expires'>,
  seconds?: number,
): Date => {
  const end = parseTime(expires);
  const old = seconds === undefined ? end : validUntil(parseTime(issuedAt), seconds);
  return old < end ? old : end;
};
