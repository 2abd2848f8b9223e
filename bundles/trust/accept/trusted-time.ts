import { FleetError } from '../../errors.ts';
import { DAY_MS, parseTime } from '../../time.ts';
import type { Clock } from './trust-state.ts';

/** The later of the system clock and the newest signed time, so that a stopped clock still moves forward with signed evidence. */
export const trustedTime = (clock: Clock, floor: Date | undefined): Date =>
  floor && floor > clock.now ? floor : clock.now;

/** issuedAt and expires of a statement, which both have been read. */
export type Validity = { readonly issued: Date; readonly expires: Date };

/**
 * Checks issuedAt, expires and their distance. The caller checks the expiry.
 * @throws FleetError SCHEMA, FROM_FUTURE
 */
export const checkDates = (
  statement: { readonly issuedAt: string; readonly expires: string },
  clock: Clock,
  maxValidityDays: number,
  what: string,
): Validity => {
  const issued = parseTime(statement.issuedAt, `issuedAt of ${what}`);
  const expires = parseTime(statement.expires, `expires of ${what}`);
  if (expires <= issued || expires.getTime() - issued.getTime() > maxValidityDays * DAY_MS) {
    throw new FleetError(
      'SCHEMA',
      `${what} is valid from ${statement.issuedAt} to ${statement.expires}, more than ${maxValidityDays} days or none`,
    );
  }
  if (clock.trusted && issued.getTime() > clock.now.getTime() + DAY_MS) {
    throw new FleetError(
      'FROM_FUTURE',
      `${what} was issued at ${statement.issuedAt}, more than a day ahead of this clock`,
      { hint: 'Set the clock; if it is right, ask the platform team why' },
    );
  }
  return { issued, expires };
};

/**
 * As checkDates, and refuses an expired statement; returns the time of issue.
 * @throws FleetError SCHEMA, FROM_FUTURE, EXPIRED
 */
export const checkValidity = (
  statement: { readonly issuedAt: string; readonly expires: string },
  clock: Clock,
  time: Date,
  maxValidityDays: number,
  what: string,
): Date => {
  const { issued, expires } = checkDates(statement, clock, maxValidityDays, what);
  if (expires > time) return issued;
  throw new FleetError('EXPIRED', `${what} expired at ${statement.expires}`, {
    hint: 'Ask for a newer one; running packages continue',
  });
};
