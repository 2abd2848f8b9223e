import { pauseMs, spread } from '#bundles/retry';

const LONGEST_MS = 15 * 60_000;

/**
 * Milliseconds until the next look: `pollMs`, doubled for each consecutive failure up to 15 minutes, with a jitter of up to 20%
 * either way. @param random 0 to 1
 */
export const untilNextLook = (pollMs: number, failedInARow: number, random: () => number): number =>
  failedInARow === 0
    ? spread(pollMs, 'around', random)
    : pauseMs({ firstMs: 2 * pollMs, longestMs: LONGEST_MS, jitter: 'around' }, failedInARow, random);
