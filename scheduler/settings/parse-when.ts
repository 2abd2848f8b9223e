import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { DAY_MS, formatTime, parseTime, type Timestamp } from '#bundles/time';

/** How times of questions are written, for descriptions of flags. */
export const WHEN = '2026-11-21T08:00:00Z, a day in UTC as 2026-11-21, or how long ago: 90m, 12h, 7d';

/**
 * The time of a question: '2026-11-21T08:00:00Z', a day in UTC, or how long ago: '90m', '12h', '7d', '2w'. A day stands for its first
 * second after `since`, otherwise for its last, or for now while it lasts.
 * @param what the flag or query parameter, without dashes @throws FleetError USAGE
 */
export const parseWhen = (text: string, what: string, now: Date): Timestamp => {
  if (/^[1-9]\d{0,4}[mhdw]$/.test(text)) return formatTime(new Date(now.getTime() - durationMs(text)));
  try {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return formatTime(parseTime(text));
    const first = parseTime(`${text}T00:00:00Z`);
    const last = new Date(first.getTime() + DAY_MS - 1000);
    if (what === 'since') return formatTime(first);
    return formatTime(first <= now && now < last ? now : last);
  } catch {
    throw new FleetError('USAGE', `${what} ${JSON.stringify(text.slice(0, 40))} is not a time`, {
      hint: `Write it like ${WHEN}`,
    });
  }
};
