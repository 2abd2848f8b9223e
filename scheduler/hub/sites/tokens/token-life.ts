import { FleetError } from '#bundles/errors';

const HOUR_MS = 3_600_000;
const UNITS = { h: HOUR_MS, d: 24 * HOUR_MS } as const;
const MAX_LIFE_MS = 400 * UNITS.d;

/** Milliseconds of '2h' or '30d', at most 400 days. @throws FleetError USAGE */
export const parseLife = (text: string): number => {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? [];
  const ms = Number(count) * UNITS[unit as keyof typeof UNITS];
  if (unit !== undefined && ms <= MAX_LIFE_MS) return ms;
  throw new FleetError('USAGE', `--expires ${JSON.stringify(text.slice(0, 80))} is no time`, {
    hint: 'Write it like 2h or 30d, at most 400d',
  });
};
