import { DEFAULT_MAX_VALIDITY_DAYS } from '#bundles/trust/accept/trust-state';
import { checkValidity } from '#bundles/trust/accept/trusted-time';
import { FleetError } from '#bundles/errors';
import { DAY_MS, formatTime, type Timestamp } from '#bundles/time';

/** A build takes its timestamp when it starts, and may pull images for hours before it signs. */
const BEFORE_MS = DAY_MS;
const AFTER_MS = 5 * 60_000;

/** Checks that a time is close to the signer's clock. @throws FleetError SIGNER_REFUSED */
export const checkNear = (time: Date, now: Date, what: string): void => {
  const ahead = time.getTime() - now.getTime();
  if (ahead >= -BEFORE_MS && ahead <= AFTER_MS) return;
  throw new FleetError(
    'SIGNER_REFUSED',
    `${what} says ${formatTime(time)}, and the signer's clock ${formatTime(now)}`,
    { hint: 'Set the clock that is wrong; a day back and five minutes ahead are accepted' },
  );
};

/** Checks that a time is not in the future. @throws FleetError FROM_FUTURE */
export const checkNotAhead = (time: Date, now: Date, what: string): void => {
  if (time.getTime() <= now.getTime() + AFTER_MS) return;
  throw new FleetError(
    'FROM_FUTURE',
    `${what} says ${formatTime(time)}, and the signer's clock ${formatTime(now)}`,
    { hint: 'Set the clock that is wrong' },
  );
};

/** Issued about now, with a validity that agents accept. @throws FleetError SCHEMA, FROM_FUTURE, EXPIRED, SIGNER_REFUSED */
export const checkTimes = (
  statement: { readonly issuedAt: Timestamp; readonly expires: Timestamp },
  now: Date,
  what: string,
): void => {
  const issued = checkValidity(statement, { now, trusted: true }, now, DEFAULT_MAX_VALIDITY_DAYS, what);
  checkNear(issued, now, what);
};
