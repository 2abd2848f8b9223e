/** A registry that was away for a day is asked again within this. */
const LONGEST_MS = 600_000;

/** A fifth more or less, so that a thousand sites do not ask at once. @param random between 0 and 1 */
export const spread = (ms: number, random: () => number): number => Math.round(ms * (0.8 + 0.4 * random()));

/** Twice as long with every failure, up to ten minutes (or what is usual, if that is longer). */
export const patience = (usualMs: number, failures: number, random: () => number): number => {
  const grown = usualMs * 2 ** Math.min(30, Math.max(0, failures - 1));
  return spread(Math.min(Math.max(usualMs, LONGEST_MS), grown), random);
};
