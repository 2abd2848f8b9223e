import { setTimeout as sleepFor } from 'node:timers/promises';
import { defined } from '../../../defined.ts';
import { FleetError } from '../../../errors.ts';
import { pauseMs, type RetryPolicy, type Sleep, spread } from '../../../retry.ts';
import type { RegistryOptions } from '../registry.ts';

/** `tries` and `firstMs` unless the options set them; a longer Retry-After is cut to `longestMs`. */
const POLICY = { firstMs: 500, longestMs: 60_000, tries: 5, jitter: 'longer' } satisfies RetryPolicy;
/** Limit of all waits that a registry asks for while it lets some requests through. Without it a command could wait for days. */
const MAX_ASKED_MINUTES = 60;
/** Milliseconds without a failure that restore the budget: longer than any one try hangs, and than any pause. */
const REST_MS = 120_000;

/**
 * The retry budget that all requests to one registry share. It is spent when one request has used up its tries and no other has
 * succeeded meanwhile; the others then try once each, instead of waiting as long for each of a thousand blobs. The first success
 * restores it, and so does a request that begins after two minutes without a failure: an agent polls for months.
 */
export type RetryBudget = {
  /** Records the start of a request. */
  readonly begun: () => void;
  /** Records the success of a request. */
  readonly succeeded: () => void;
  /** The number of successes. */
  readonly successes: () => number;
  readonly failed: () => void;
  /** A request has used up its tries. @param since `successes` at its first failure */
  readonly exhausted: (since: number) => void;
  readonly isSpent: () => boolean;
  /** The registry asks for a wait. @returns milliseconds of all such waits; waits at the same time count once */
  readonly asked: (ms: number) => number;
};

/** @param now milliseconds of a monotonic clock */
export const createRetryBudget = (now: () => number = () => performance.now()): RetryBudget => {
  let successes = 0;
  let spent = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let waited = 0;
  let waitingUntil = Number.NEGATIVE_INFINITY;
  return {
    begun: () => {
      if (now() - failedAt < REST_MS) return;
      spent = false;
      waited = 0;
    },
    successes: () => successes,
    succeeded: () => {
      successes += 1;
      spent = false;
    },
    failed: () => {
      failedAt = now();
    },
    exhausted: (since) => {
      if (since === successes) spent = true;
    },
    isSpent: () => spent,
    asked: (ms) => {
      const from = Math.max(now(), waitingUntil);
      waitingUntil = Math.max(waitingUntil, now() + ms);
      waited += waitingUntil - from;
      return waited;
    },
  };
};

/** The retries of one operation, which may be several requests. */
export type Retries = {
  /**
   * Waits for the next try; false when no try is left. @param asked milliseconds of the Retry-After
   * @param host the host that is waited for: the registry, its token server or its blob storage
   * @throws FleetError REGISTRY_UNREACHABLE when all waits that were asked for exceed an hour
   */
  readonly wait: (
    asked: number | undefined,
    signal: AbortSignal | undefined,
    host?: string,
  ) => Promise<boolean>;
  /** The operation made progress: all tries are available again. */
  readonly renew: () => void;
};

/** @param budget shared by all requests to the same registry */
export const createRetries = (
  {
    sleep = defaultSleep,
    random = Math.random,
    onWait,
    tries = POLICY.tries,
    firstDelay = POLICY.firstMs,
  }: RegistryOptions,
  budget: RetryBudget = createRetryBudget(),
): Retries => {
  const policy = { ...POLICY, firstMs: firstDelay };
  let failures = 0;
  let since = 0;
  budget.begun();
  return {
    wait: async (asked, signal, host) => {
      failures++;
      budget.failed();
      if (failures === 1) since = budget.successes();
      if (failures >= tries) budget.exhausted(since);
      if (failures >= tries || budget.isSpent()) return false;
      // Jitter also for the Retry-After: a thousand agents got the same one.
      const ms = pauseMs(policy, failures, random, spread(asked ?? 0, policy.jitter, random));
      if (asked !== undefined && budget.asked(ms) > MAX_ASKED_MINUTES * 60_000) throw askedTooMuch(host);
      onWait?.({ ms, asked: asked !== undefined, host, ...defined({ askedMs: asked }) });
      await sleep(ms, signal);
      return true;
    },
    renew: () => {
      failures = 0;
    },
  };
};

const askedTooMuch = (host = 'the registry'): FleetError =>
  new FleetError(
    'REGISTRY_UNREACHABLE',
    `${host} has repeatedly requested pauses, ${MAX_ASKED_MINUTES} minutes in all`,
    { hint: 'Run it again later, what has arrived is kept; ask the operator of the registry for its limits' },
  );

const defaultSleep: Sleep = async (ms, signal) => {
  await sleepFor(ms, undefined, signal && { signal });
};
