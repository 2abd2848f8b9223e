import type { Preferences } from './parse-preferences.ts';

const OPENS = 8;

/** 8 o'clock on the Monday after a day, in UTC or in the zone of the browser: '2026-12-07T08:00:00Z'. @param at the hub's time */
export const nextMonday = (at: string, times: Preferences['times']): string => {
  const monday = new Date(at);
  if (times === 'utc') {
    monday.setUTCDate(monday.getUTCDate() + daysUntilMonday(monday.getUTCDay()));
    monday.setUTCHours(OPENS, 0, 0, 0);
  } else {
    monday.setDate(monday.getDate() + daysUntilMonday(monday.getDay()));
    monday.setHours(OPENS, 0, 0, 0);
  }
  return `${monday.toISOString().slice(0, 19)}Z`;
};

/** @param day from 0, a Sunday */
const daysUntilMonday = (day: number): number => (8 - day) % 7 || 7;
