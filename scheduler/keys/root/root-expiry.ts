import { FleetError } from '#bundles/errors';
import { addDays, formatTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';

/** Security design, section 2: roots expire unless they are rotated, so that a lost quorum is noticed in time. */
const MAX_YEARS = 2;
const MAX_DAYS = 366 * MAX_YEARS;
/** Tolerance for the clocks of officers' offline laptops. */
const CLOCK_DAYS = 2;

/** The same day in two years. */
const latestExpiry = (now: Date): Date => {
  const date = new Date(now);
  date.setUTCFullYear(date.getUTCFullYear() + MAX_YEARS);
  date.setUTCMilliseconds(0);
  return date;
};

/**
 * Parses '2028-11-20', '2028-11-20T08:00:00Z' or '540d'; default: in two years.
 * @throws FleetError USAGE if it is not a date, in the past, or more than two years ahead
 */
export const parseExpiry = (text: string | undefined, now: Date): Date => {
  if (text === undefined) return latestExpiry(now);
  const expires = readExpiry(text, now);
  if (expires === undefined) {
    throw new FleetError('USAGE', `--expires ${JSON.stringify(text.slice(0, 80))} is not a date`, {
      hint: 'Write it like 2028-11-20 or 540d',
    });
  }
  if (expires <= now) {
    throw new FleetError('USAGE', `--expires ${formatTime(expires)} has passed`, {
      hint: "Check the date, and this machine's clock",
    });
  }
  if (expires <= latestExpiry(now)) return expires;
  throw new FleetError('USAGE', `--expires ${formatTime(expires)} is more than ${MAX_YEARS} years ahead`, {
    hint: `Take ${formatTime(latestExpiry(now))} at most, and rotate the root before it ends`,
  });
};

const readExpiry = (text: string, now: Date): Date | undefined => {
  const days = /^([1-9]\d{0,4})d$/.exec(text)?.[1];
  if (days !== undefined) return addDays(now, Number(days));
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/.test(text)) return undefined;
  const date = new Date(text.length === 10 ? `${text}T00:00:00Z` : text);
  return !Number.isNaN(date.getTime()) && formatTime(date).startsWith(text) ? date : undefined;
};

/** Checks the expiry of a root made on another machine. @throws FleetError ROOT_EXPIRED, ROOT_FORMAT if it is too far ahead */
export const checkDraftExpiry = ({ version, expires }: TrustRoot, now: Date): void => {
  const subject = `root ${version}`;
  if (expires <= now) {
    throw new FleetError('ROOT_EXPIRED', `it ended on ${formatTime(expires)}`, {
      subject,
      hint: 'Create it again with a later --expires; or correct the clock of this machine',
    });
  }
  if (expires <= addDays(now, MAX_DAYS + CLOCK_DAYS)) return;
  throw new FleetError(
    'ROOT_FORMAT',
    `it is valid until ${formatTime(expires)}, more than ${MAX_YEARS} years`,
    {
      subject,
      hint: 'Create it again with an earlier --expires; or correct the clock of this machine',
    },
  );
};
