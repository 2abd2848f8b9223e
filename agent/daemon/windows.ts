import { createTask, parse } from 'node-cron';
import { FleetError } from '#bundles/errors';
import { durationMs } from '../config/config.ts';

/** When a new release may begin to be applied. */
export type Windows = {
  readonly isOpen: (now: Date) => boolean;
  /** When the next one opens; undefined without windows, and where none opens within some years. */
  readonly opensAfter: (now: Date) => Date | undefined;
};

type Window = {
  readonly matches: (date: Date) => boolean;
  readonly fields: ReturnType<typeof parse>;
  readonly lengthMs: number;
};

/** A day that only comes in leap years is found; one that never comes is not looked for for ever. */
const SEARCHED_DAYS = 3000;

/**
 * Windows of '<cron> for <duration>' in the machine's time zone; none of them: always open. They are looked up and never
 * waited for, so a clock that jumps by years opens or closes them and does nothing else.
 * @throws FleetError CONFIG_INVALID for an expression that node-cron does not take
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
    const task = createTask(cron, () => {});
    return { matches: (date) => task.match(date), fields, lengthMs: durationMs(length) };
  } catch (cause) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the window ${JSON.stringify(text)} is no time: ${(cause as Error).message}`,
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

/** Those of one day, in order. The fields say where to look, node-cron has the last word. */
const openings = ({ fields, matches }: Window, day: Date): readonly Date[] => {
  if (!allows(fields.month, day.getMonth() + 1) || !allows(fields.dayOfMonth, day.getDate())) return [];
  if (!allows(fields.dayOfWeek, day.getDay())) return [];
  const times = fields.hour.flatMap((hour) => fields.minute.map((minute) => ({ hour, minute })));
  return times
    .map(({ hour, minute }) => new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour, minute))
    .filter((date) => matches(date))
    .toSorted((a, b) => a.getTime() - b.getTime());
};

/** A field may hold more than numbers ('L'): then the day is looked at. */
const allows = (field: readonly (number | string)[], value: number): boolean =>
  field.includes(value) || field.some((entry) => typeof entry !== 'number');
