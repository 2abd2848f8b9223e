/**
 * A time by the hub's clock: the clock of a browser may be wrong by hours, and a view may be open for hours.
 * @param at the hub's time in the answer on the screen @param sinceMs how long ago it was read
 */
export const hubTimeIn = (at: string, sinceMs: number, hours: number): string =>
  `${new Date(Date.parse(at) + Math.max(0, sinceMs) + hours * 3_600_000).toISOString().slice(0, 19)}Z`;
