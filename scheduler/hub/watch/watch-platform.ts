import { durationMs } from '#bundles/duration';
import { type FleetError, formatError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { createBuildMemory } from '../../assemble/incremental/build-memory.ts';
import { buildStep } from './build-step.ts';
import { createDeliverStep } from './deliver-step.ts';
import { faultFields } from './fault-fields.ts';
import { createPublishStep } from './publish-step.ts';
import { createRepositories } from './repositories.ts';
import type { WatchOptions } from './watch-options.ts';
import type { RepositoryState } from './watched.ts';
import { setTimeout } from 'node:timers/promises';
import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';
import { pauseMs, spread } from '#bundles/retry';

/** Counters since the start. */
export type WatchCounters = {
  /** Builds that succeeded. */
  readonly builds: number;
  /** Rounds in which a look, a build or a publication failed. */
  readonly failures: number;
  readonly published: number;
  readonly lastBuildSeconds: number | undefined;
  /** When everything was last up to date: built, and published if a registry is configured. */
  readonly lastSuccessAt: Date | undefined;
  /** Of the last build, by environment. */
  readonly heldAssignments: Readonly<Record<string, number>>;
  /** Of the last build, by environment: channels whose release would remove packages that were not deleted. */
  readonly waitingChannels: Readonly<Record<string, number>>;
};

export type Watch = {
  /** Starts a round now, or right after the current one. Called for a webhook or a changed layout. */
  readonly wake: () => void;
  /** The state of every source that the last build read. */
  readonly state: () => readonly RepositoryState[];
  readonly counters: () => WatchCounters;
  /** The last failure, until something succeeds. */
  readonly trouble: () => { readonly since: Date; readonly error: FleetError } | undefined;
  /** Resolves when the loop has ended after the signal aborted. Never rejects. */
  readonly done: Promise<void>;
};

/** Exit codes (docs/errors.md): 3 for errors in the platform's files, 4 for failed signatures, digests or versions. */
const EXIT_INPUT = 3;
const WAITS_FOR_PEOPLE: readonly number[] = [EXIT_INPUT, 4];

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

/**
 * Keeps the layout, and the registry if one is configured, up to date with the repositories: checks all of them, builds if one
 * or the audit log changed, and publishes if the layout changed, including changes by others (sites, receipts). One step at a time. Failures are
 * retried with a growing delay, except errors that only a person can correct.
 */
export const watchPlatform = (options: WatchOptions, signal: AbortSignal): Watch => {
  const { configuration, clock, log, random } = options;
  const counters: Mutable<WatchCounters> = {
    builds: 0,
    failures: 0,
    published: 0,
    lastBuildSeconds: undefined,
    lastSuccessAt: undefined,
    heldAssignments: {},
    waitingChannels: {},
  };
  const alarm = createWakeup();
  const repositories = createRepositories(options);
  const memory = createBuildMemory();
  const publish = createPublishStep(options);
  const deliver = createDeliverStep(options);
  const pollMs = durationMs(configuration.poll ?? '1m');
  let trouble: { readonly since: Date; readonly error: FleetError } | undefined;
  let failedInARow = 0;
  let buildAgain = true;
  let buildFailure: FleetError | undefined;
  /** Mark of the audit log before the last build. */
  let builtDecisions: string | undefined;
  /** Whether this round has built. */
  let built = false;

  const attempt = async (): Promise<void> => {
    built = false;
    const changed = await repositories.look(signal);
    const decisions = await auditMark(configuration.layout);
    // A promotion changes the input of chained environments without changing a source.
    if (changed || buildAgain || decisions !== builtDecisions) {
      // Retried until it succeeds: a build that failed for a full disk is run again later.
      buildAgain = true;
      const { watched, seconds, held, waiting, failure } = await buildStep(options, memory, signal);
      signal.throwIfAborted();
      built = true;
      builtDecisions = decisions;
      repositories.remember(watched, failure === undefined);
      counters.lastBuildSeconds = seconds;
      // A failed build has no counts for the environments it did not reach.
      counters.heldAssignments = failure ? { ...counters.heldAssignments, ...held } : held;
      counters.waitingChannels = failure ? { ...counters.waitingChannels, ...waiting } : waiting;
      if (failure) buildFailure = failure;
      else {
        buildFailure = undefined;
        counters.builds += 1;
      }
      // An error in a file stays until a source changes.
      buildAgain = failure !== undefined && failure.exitCode !== EXIT_INPUT;
      await options.beforePublish?.(signal);
    }
    // Environments that were built are published even if others failed.
    if (await publish(signal)) counters.published += 1;
    await deliver(built, signal);
    if (buildFailure) throw buildFailure;
  };

  const round = async (): Promise<void> => {
    try {
      await attempt();
      if (trouble) log.info({ since: formatTime(trouble.since) }, 'well again');
      trouble = undefined;
      failedInARow = 0;
      counters.lastSuccessAt = clock();
    } catch (error) {
      if (signal.aborted) return;
      const known = toFleetError(error, 'keeping the releases up to date');
      // An error that was already counted is not a new failure. Errors that only a person can correct do not delay the next look.
      if (known !== buildFailure || built) counters.failures += 1;
      failedInARow = WAITS_FOR_PEOPLE.includes(known.exitCode) ? 0 : failedInARow + 1;
      if (!trouble || formatError(trouble.error) !== formatError(known))
        log.error(faultFields(known), 'failed');
      trouble = { since: trouble?.since ?? clock(), error: known };
    }
  };

  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      alarm.reset();
      await round();
      await alarm.wait(untilNextLook(pollMs, failedInARow, random), signal);
    }
    log.info({}, 'stopped looking');
  };

  return {
    wake: alarm.ring,
    state: repositories.state,
    counters: () => ({ ...counters }),
    trouble: () => trouble,
    done: loop(),
  };
};

/** A wake-up signal for a sleeping loop. A ring outside of `wait` ends the next `wait` immediately. */
type Alarm = {
  readonly ring: () => void;
  /** Discards earlier rings. Called at the start of a round, which handles their cause. */
  readonly reset: () => void;
  /** Resolves after `ms`, on a ring, or when the signal aborts. Never rejects. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const createWakeup = (): Alarm => {
  let rung = new AbortController();
  return {
    ring: () => rung.abort(),
    reset: () => {
      rung = new AbortController();
    },
    wait: async (ms, signal) => {
      await setTimeout(ms, undefined, { signal: AbortSignal.any([signal, rung.signal]) }).catch(() => {});
    },
  };
};

/**
 * Digest of the audit log of a layout as its index names it: it changes with every promotion and decision, by whichever process.
 * @returns undefined without a log @throws FleetError LAYOUT_INVALID, PERMISSION, IO
 */
const auditMark = async (layout: string | undefined): Promise<string | undefined> =>
  layout === undefined ? undefined : findReference(await openOrStartLayout(layout), AUDIT_REFERENCE)?.digest;

const MAX_MS = 15 * 60_000;

/**
 * Milliseconds until the next look: `pollMs`, doubled for each consecutive failure up to 15 minutes, with a jitter of up to 20%
 * either way. @param random 0 to 1
 */
export const untilNextLook = (pollMs: number, failedInARow: number, random: () => number): number =>
  failedInARow === 0
    ? spread(pollMs, 'around', random)
    : pauseMs({ firstMs: 2 * pollMs, longestMs: MAX_MS, jitter: 'around' }, failedInARow, random);
