import type { Timestamp } from '#bundles/time';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

const MINUTE_MS = 60_000;

/** '2 h ago', 'just now'; '3 d ahead' for a time in the future, from a clock that runs ahead. */
export const formatAge = (at: Timestamp, now: Date): string => {
  const ms = now.getTime() - new Date(at).getTime();
  if (Math.abs(ms) < MINUTE_MS) return 'just now';
  return `${formatSpan(Math.abs(ms))} ${ms < 0 ? 'ahead' : 'ago'}`;
};

/** '2 h', '40 d'. */
export const formatSpan = (ms: number): string => {
  // Days only from two on: "36 h" is more precise than "1 d".
  const [unit, size] = UNITS.find(([name, length]) => ms >= (name === 'd' ? 2 * length : length)) ?? UNITS[2];
  return `${Math.floor(ms / size)} ${unit}`;
};
