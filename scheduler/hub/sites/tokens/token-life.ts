import { FleetError } from '#bundles/errors';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { TokenRow } from '../../store/tables.ts';

const HOUR_MS = 3_600_000;
const UNITS = { h: HOUR_MS, d: 24 * HOUR_MS } as const;
const MAX_LIFE_MS = 400 * UNITS.d;

/** How long a break-glass code can be redeemed, from its creation. Its `expires_at` is the end of the session that it opens. */
const CODE_MS = 15 * 60_000;

/** The first time at which an unused token is revoked. */
export const usableUntil = (row: Pick<TokenRow, 'scope' | 'created_at' | 'expires_at'>): Timestamp => {
  if (row.scope !== 'break-glass') return row.expires_at;
  const code = formatTime(new Date(parseTime(row.created_at).getTime() + CODE_MS));
  return code < row.expires_at ? code : row.expires_at;
};

/** Milliseconds of '2h' or '30d', at most 400 days. @throws FleetError USAGE */
export const parseLife = (text: string): number => {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? [];
  const ms = Number(count) * UNITS[unit as keyof typeof UNITS];
  if (unit !== undefined && ms <= MAX_LIFE_MS) return ms;
  throw new FleetError('USAGE', `--expires ${JSON.stringify(text.slice(0, 80))} is not a time`, {
    hint: 'Write it like 2h or 30d, at most 400d',
  });
};
