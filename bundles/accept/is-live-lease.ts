import type { LeasePredicate } from '../statements/predicates.ts';
import { parseTime } from '../time.ts';

/**
 * Whether a lease still says that its release is the current one: before its end and, for an agent that wants fresh word
 * of it, not older than that. @param seconds freshness that the site's order asks for; undefined: none
 */
export const isLiveLease = (
  { issuedAt, expires }: Pick<LeasePredicate, 'issuedAt' | 'expires'>,
  time: Date,
  seconds?: number,
): boolean => time.getTime() < leaseEnd({ issuedAt, expires }, seconds).getTime();

/** From when on a word given at `issued` is older than an order allows. The very last second still counts: t - issued <= n. */
export const wordEnd = (issued: Date, seconds: number): Date =>
  new Date(issued.getTime() + seconds * 1000 + 1);

/** From when on it is not live any more. */
export const leaseEnd = (
  { issuedAt, expires }: Pick<LeasePredicate, 'issuedAt' | 'expires'>,
  seconds?: number,
): Date => {
  const end = parseTime(expires);
  const old = seconds === undefined ? end : wordEnd(parseTime(issuedAt), seconds);
  return old < end ? old : end;
};
