const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** '5m' -> 300000 milliseconds. A schema has validated the text: a whole number with the unit s, m, h, d or w. */
export const durationMs = (text: string): number =>
  Number.parseInt(text, 10) * (UNITS[text.slice(-1)] ?? 1000);
