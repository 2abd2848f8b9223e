import { setTimeout as sleepFor } from 'node:timers/promises';
import { isFleetError, toFleetError } from './errors.ts';

/**
 * How one operation is retried. Each pause is twice the one before. undici's RetryAgent is not used: it has no budget shared by
 * requests, no limit on the total wait, and decides by HTTP status instead of our error codes.
 */
export type RetryPolicy = {
  /** Milliseconds before the second try. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Tries in total; without it there is no limit. */
  readonly tries?: number;
  readonly jitter: Jitter;
};

/**
 * 'longer': 1 to 1.5 times the pause, for requests, so that a Retry-After is never shortened; `longestMs` bounds the result.
 * 'around': 0.8 to 1.2 times the pause, for polling; it also spreads clients whose pause has reached `longestMs`.
 */
export type Jitter = 'none' | 'longer' | 'around';

/** @param random 0 up to 1 */
export const spread = (ms: number, jitter: Jitter, random: () => number): number => {
  switch (jitter) {
    case 'none':
      return ms;
    case 'longer':
      return Math.round(ms * (1 + 0.5 * random()));
    case 'around':
      return Math.round(ms * (0.8 + 0.4 * random()));
  }
};

/** Keeps the doubled pause a finite number, however often an operation fails. */
const MAX_DOUBLINGS = 30;

/**
 * Milliseconds to wait after `failures` failures in a row, counted from 1.
 * @param askedMs a server's Retry-After: the pause is at least as long, up to `longestMs`
 */
export const pauseMs = (
  { firstMs, longestMs, jitter }: Omit<RetryPolicy, 'tries'>,
  failures: number,
  random: () => number = Math.random,
  askedMs = 0,
): number => {
  const grown = Math.min(longestMs, firstMs * 2 ** Math.min(MAX_DOUBLINGS, Math.max(0, failures - 1)));
  const pause = Math.max(askedMs, spread(grown, jitter, random));
  return jitter === 'around' ? pause : Math.min(longestMs, pause);
};

/**
 * Milliseconds that Retry-After asks for (RFC 9110 section 10.2.3). A date is measured against the answer's own Date,
 * as the clock here may be wrong by years.
 */
export const retryAfter = (header: (name: string) => string | undefined): number | undefined => {
  const text = header('retry-after')?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000;
  const delay = Date.parse(text) - Date.parse(header('date') ?? '');
  return Number.isFinite(delay) ? Math.max(0, delay) : undefined;
};

export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export type RetryOptions = {
  /** Without it: FleetErrors whose code is retryable, except ABORTED. */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
  /** The Retry-After that an error carries, in milliseconds. */
  readonly askedMs?: ((error: unknown) => number) | undefined;
  readonly random?: (() => number) | undefined;
  readonly sleep?: Sleep | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Runs `operation` until it succeeds, its error is not retryable, or the tries are used up; then throws that error.
 * @throws FleetError ABORTED when the signal ends a pause
 */
export const retry = async <T>(
  policy: RetryPolicy,
  operation: () => Promise<T>,
  { isRetryable = hasRetryableCode, askedMs, random, sleep = pause, signal }: RetryOptions = {},
): Promise<T> => {
  for (let failures = 1; ; failures += 1) {
    try {
      return await operation();
    } catch (error) {
      if (failures >= (policy.tries ?? Number.POSITIVE_INFINITY) || !isRetryable(error)) throw error;
      await sleep(pauseMs(policy, failures, random, askedMs?.(error)), signal);
    }
  }
};

const hasRetryableCode = (error: unknown): boolean =>
  isFleetError(error) && error.retryable && error.code !== 'ABORTED';

const pause: Sleep = async (ms, signal) => {
  await sleepFor(ms, undefined, signal && { signal }).catch((error: unknown) => {
    throw toFleetError(error, 'waiting for the next try');
  });
};
