import { createTask, parse } from 'node-cron';
import { durationMs } from './duration.ts';
import { FleetError } from './errors.ts';

/** Maintenance windows: recurring times in which a change may begin. */
export type Windows = {
  readonly isOpen: (now: Date) => boolean;
  /** When the next window opens; undefined without windows, or if none opens within SEARCHED_DAYS. */
  readonly opensAfter: (now: Date) => Date | undefined;
};

type Window = {
  readonly matches: (date: Date) => boolean;
  readonly fields: ReturnType<typeof parse>;
  readonly lengthMs: number;
};

/** Limit of the search in days: enough to find 29 February, and finite for a date that never occurs. */
const SEARCHED_DAYS = 3000;

/**
 * Parses windows of the form '<cron> for <duration>' in the machine's time zone. Without any, the window is always open. Windows
 * are computed from the current time and use no timer, so a jump of the clock only opens or closes them.
 * @throws FleetError CONFIG_INVALID for an expression that node-cron rejects
 */
export const parseWindows = (texts: readonly string[]): Windows => {
  const windows = texts.map(parseWindow);
  return {
    isOpen: (now) => windows.length === 0 || windows.some((window) => isWithin(window, now)),
    opensAfter: (now) => {
      const next = windows.flatMap((window) => openingAfter(window, now)?.getTime() ?? []);
      return next.length === 0 ? undefined : new Date(Math.min(...next));
    },
  };
};

const parseWindow = (text: string): Window => {
  const [, cron = '', length = ''] = /^(.+) for (\S+)$/.exec(text) ?? [];
  try {
    const fields = parse(cron);
    const task = createTask(cron, () => {}, { timezone: 'UTC' });
    return { matches: (date) => task.match(date), fields, lengthMs: durationMs(length) };
  } catch (cause) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the window ${JSON.stringify(text)} is not a time: ${(cause as Error).message}`,
      {
        cause,
        hint: "Write it like '0 22 * * 1-5 for 6h': minute, hour, day, month, weekday",
      },
    );
  }
};

const isWithin = (window: Window, now: Date): boolean => {
  const from = now.getTime() - window.lengthMs;
  for (let back = 0; back <= SEARCHED_DAYS; back++) {
    const day = startOfDay(now, -back);
    const last = openings(window, day)
      .filter((date) => date <= now)
      .at(-1);
    if (last) return last.getTime() > from;
    if (day.getTime() < from) return false;
  }
  return false;
};

const openingAfter = (window: Window, now: Date): Date | undefined => {
  for (let ahead = 0; ahead <= SEARCHED_DAYS; ahead++) {
    const found = openings(window, startOfDay(now, ahead)).find((date) => date > now);
    if (found) return found;
  }
  return undefined;
};

const startOfDay = (date: Date, days: number): Date =>
  new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);

/**
 * Opening times on one day, in order. The fields give candidates, which node-cron then confirms by day and time alone, as in UTC: a local time that the clock
 * skips is an hour later.
 */
const openings = ({ fields, matches }: Window, day: Date): readonly Date[] => {
  if (!allows(fields.month, day.getMonth() + 1) || !allows(fields.dayOfMonth, day.getDate())) return [];
  if (!allows(fields.dayOfWeek, day.getDay())) return [];
  const date = [day.getFullYear(), day.getMonth(), day.getDate()] as const;
  const times = fields.hour.flatMap((hour) => fields.minute.map((minute) => ({ hour, minute })));
  return times
    .filter(({ hour, minute }) => matches(new Date(Date.UTC(...date, hour, minute))))
    .map(({ hour, minute }) => new Date(...date, hour, minute))
    .toSorted((a, b) => a.getTime() - b.getTime());
};

/** True if a field allows a value. Non-numeric entries ('L') always do; node-cron decides then. */
const allows = (field: readonly (number | string)[], value: number): boolean =>
  field.includes(value) || field.some((entry) => typeof entry !== 'number');
