import { type FleetError, formatError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { newBuildMemory } from '../incremental/build-memory.ts';
import { makeAlarm } from './alarm.ts';
import { buildStep } from './build-step.ts';
import { makeDeliverStep } from './deliver-step.ts';
import { durationMs, patienceMs } from './durations.ts';
import { faultFields } from './fault-fields.ts';
import { makePublishStep } from './publish-step.ts';
import { makeRepositories } from './repositories.ts';
import type { WatchOptions } from './watch-options.ts';
import type { RepositoryState } from './watched.ts';

/** What has happened since the start. */
export type WatchCounters = {
  /** Builds that came to their end, whatever they found. */
  readonly builds: number;
  /** Looks, builds and publications that failed. */
  readonly failures: number;
  readonly published: number;
  readonly lastBuildSeconds: number | undefined;
  /** When everything was last as the repositories say: built, and published where a registry is configured. */
  readonly lastSuccessAt: Date | undefined;
  /** By environment, of the last build. */
  readonly heldAssignments: Readonly<Record<string, number>>;
  /** By environment, of the last build: channels that wait because their release would remove too much. */
  readonly waitingChannels: Readonly<Record<string, number>>;
};

export type Watch = {
  /** Look now: a webhook came, or the layout changed. During a build: once more right after it. */
  readonly poke: () => void;
  /** Every source that the last build read. */
  readonly state: () => readonly RepositoryState[];
  readonly counters: () => WatchCounters;
  /** The last failure, until something succeeds. */
  readonly trouble: () => { readonly since: Date; readonly error: FleetError } | undefined;
  /** When the loop has ended, after the signal: the step under way is over. Never rejects. */
  readonly done: Promise<void>;
};

/** Exit codes (docs/errors.md) of mistakes in the platform's files, and of what a signature, digest or number refuses. */
const INPUT_IS_WRONG = 3;
const WAITS_FOR_PEOPLE: readonly number[] = [INPUT_IS_WRONG, 4];

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

/**
 * Keeps the layout, and the registry where one is configured, as the repositories say: looks at all of them, builds when
 * one changed, publishes when the layout changed. One step at a time; a step that fails is tried again, later each time.
 * Everything else (sites, receipts) that changes the layout is published too.
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
  const alarm = makeAlarm();
  const repositories = makeRepositories(options);
  const memory = newBuildMemory();
  const publish = makePublishStep(options);
  const deliver = makeDeliverStep(options);
  const pollMs = durationMs(configuration.poll ?? '1m');
  let trouble: { readonly since: Date; readonly error: FleetError } | undefined;
  let failedInARow = 0;
  let buildAgain = true;
  let buildFailure: FleetError | undefined;
  /** In this round. */
  let built = false;

  const attempt = async (): Promise<void> => {
    built = false;
    const changed = await repositories.look(signal);
    if (changed || buildAgain) {
      // Until it has succeeded: a change that met a full disk is built when there is room.
      buildAgain = true;
      const { watched, seconds, held, waiting, failure } = await buildStep(options, memory, signal);
      signal.throwIfAborted();
      built = true;
      repositories.remember(watched, failure === undefined);
      counters.lastBuildSeconds = seconds;
      // A build that failed says nothing of the environments it did not come to.
      counters.heldAssignments = failure ? { ...counters.heldAssignments, ...held } : held;
      counters.waitingChannels = failure ? { ...counters.waitingChannels, ...waiting } : waiting;
      if (failure) buildFailure = failure;
      else {
        buildFailure = undefined;
        counters.builds += 1;
      }
      // What is wrong with a file stays wrong until a source changes.
      buildAgain = failure !== undefined && failure.exitCode !== INPUT_IS_WRONG;
    }
    // Environments that could be built are released, and go out, whatever is wrong with the others.
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
      // A mistake that still waits for its edit is no new failure, and one that only people can mend makes no look later.
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
      await alarm.wait(patienceMs(pollMs, failedInARow, random()), signal);
    }
    log.info({}, 'stopped looking');
  };

  return {
    poke: alarm.ring,
    state: repositories.state,
    counters: () => ({ ...counters }),
    trouble: () => trouble,
    done: loop(),
  };
};
