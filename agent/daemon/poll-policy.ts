import type { RetryPolicy } from '#bundles/retry';

/** Longest pause, so that of a line that is up for ten minutes an hour little is lost. */
const MAX_MS = 120_000;

/** Pauses after polls that failed: from `pollMs` up to two minutes, or `pollMs` if that is longer. */
export const pollPolicy = (pollMs: number): RetryPolicy => ({
  firstMs: pollMs,
  longestMs: Math.max(pollMs, MAX_MS),
  jitter: 'around',
});
