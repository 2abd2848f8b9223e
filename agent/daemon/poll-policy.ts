import type { RetryPolicy } from '#bundles/retry';

/** A registry or hub that was away for a day is asked again within this. */
const LONGEST_MS = 600_000;

/** Pauses after polls that failed: from `pollMs` up to ten minutes, or `pollMs` if that is longer. */
export const pollPolicy = (pollMs: number): RetryPolicy => ({
  firstMs: pollMs,
  longestMs: Math.max(pollMs, LONGEST_MS),
  jitter: 'around',
});
