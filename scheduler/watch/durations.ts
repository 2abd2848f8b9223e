const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** '30s' -> 30000; the schema has judged the text. */
export const durationMs = (text: string): number =>
  Number.parseInt(text, 10) * (UNITS[text.slice(-1)] ?? 1000);

const LONGEST_MS = 15 * 60_000;

/**
 * Until the next look: the time between two, twice as long after each failure in a row up to a quarter of an hour (or
 * the time between two, if that is longer), and up to a fifth more or less.
 */
export const patienceMs = (pollMs: number, failedInARow: number, random: number): number => {
  const longest = Math.max(pollMs, LONGEST_MS);
  const base = Math.min(longest, pollMs * 2 ** Math.min(failedInARow, 20));
  return Math.round(base * (0.8 + 0.4 * random));
};
