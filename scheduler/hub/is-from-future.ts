import { parseTime, type Timestamp } from '#bundles/time';

/** Clocks of replicas and of the machines that run commands may differ so much. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

/**
 * Whether a token or session begins later than now, because a clock was ahead when it was made: it would last as much longer as that clock
 * was ahead.
 */
export const isFromFuture = (created: Timestamp, now: Date): boolean =>
  parseTime(created).getTime() > now.getTime() + CLOCKS_DIFFER_MS;
