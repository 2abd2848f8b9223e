import { FleetError } from './errors.ts';

/** RFC 3339 in UTC with whole seconds: the only way times are written in our documents. */
export type Timestamp = string;

const PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const formatTime = (date: Date): Timestamp => `${date.toISOString().slice(0, 19)}Z`;

export const isTime = (value: unknown): value is Timestamp =>
  typeof value === 'string' && PATTERN.test(value) && !Number.isNaN(Date.parse(value));

/** @throws FleetError SCHEMA */
export const parseTime = (text: unknown, what = 'time'): Date => {
  const date = typeof text === 'string' && PATTERN.test(text) ? new Date(text) : undefined;
  // Read back, so that 30 February and 24:00:00 are refused and not moved to the next day.
  if (date && !Number.isNaN(date.getTime()) && formatTime(date) === text) return date;
  throw new FleetError(
    'SCHEMA',
    `${what} must look like 2026-11-21T08:00:00Z, not ${JSON.stringify(text)?.slice(0, 40)}`,
  );
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export const addDays = (date: Date, days: number): Date => new Date(date.getTime() + days * DAY_MS);
