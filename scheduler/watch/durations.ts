const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** '30s' -> 30000; the schema has judged the text. */
export const durationMs = (text: string): number =>
  Number.parseInt(text, 10) * (UNITS[text.slice(-1)] ?? 1000);

const LONGEST_MS = 15 * 60_000;

/**
 * Milliseconds until the next look: `pollMs`; after failures twice as long for each in a row, at most a quarter of an hour
 * whatever `pollMs` is; in both cases up to a fifth more or less.
 */
export const patienceMs = (pollMs: number, failedInARow: number, random: number): number => {
  const base = failedInARow === 0 ? pollMs : Math.min(LONGEST_MS, pollMs * 2 ** Math.min(failedInARow, 20));
  return Math.round(base * (0.8 + 0.4 * random));
};
