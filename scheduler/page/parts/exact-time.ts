import type { Preferences } from '../api/parse-preferences.ts';

/**
 * '2026-11-28 08:00:05 UTC', or with the zone of the browser '2026-11-28 09:00:05 GMT+1'.
 * @param zone of 'local'; the browser's, where it is not given
 */
export const exactTime = (at: string, times: Preferences['times'], zone?: string): string => {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  if (times === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const parts = new Map(
    new Intl.DateTimeFormat('en-GB', { ...LOCAL, timeZone: zone })
      .formatToParts(date)
      .map(({ type, value }) => [type, value]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return `${of('year')}-${of('month')}-${of('day')} ${of('hour')}:${of('minute')}:${of('second')} ${of('timeZoneName')}`;
};

const LOCAL = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
} as const satisfies Intl.DateTimeFormatOptions;
