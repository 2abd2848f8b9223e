import { FleetError } from './errors.ts';

/** RFC 3339 in UTC with whole seconds: the only way times are written in our documents. */
export type Timestamp = string;

const PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const formatTime = (date: Date): Timestamp => `${date.toISOString().slice(0, 19)}Z`;

/** The date that a text is; undefined for another text, and for 30 February and 24:00:00, which Date moves to the next day. */
const dateIn = (text: unknown): Date | undefined => {
  if (typeof text !== 'string' || !PATTERN.test(text)) return undefined;
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && formatTime(date) === text ? date : undefined;
};

export const isTime = (value: unknown): value is Timestamp => dateIn(value) !== undefined;

/** @throws FleetError SCHEMA */
export const parseTime = (text: unknown, what = 'time'): Date => {
  const date = dateIn(text);
  if (date) return date;
  throw new FleetError(
    'SCHEMA',
    `${what} must look like 2026-11-21T08:00:00Z, not ${JSON.stringify(text)?.slice(0, 40)}`,
  );
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export const addDays = (date: Date, days: number): Date => new Date(date.getTime() + days * DAY_MS);
