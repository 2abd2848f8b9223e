import type { Logger } from 'pino';
import type { Configuration } from '../../settings/configuration.ts';
import { keepTreeCommits, readClusters } from '../ingest/followers/tree-commits.ts';
import { recordFreshness } from '../questions/state/freshness-policies.ts';
import type { Store } from '../store/open-store.ts';
import type { Metrics } from '../http/metrics/metrics.ts';
import type { Watch } from '../watch/watch-platform.ts';
import type { Duty, Term } from './lead.ts';
import { logFailure } from './log-failure.ts';
import { repeat } from './repeat.ts';
import { limitDutyCycle } from './limit-duty-cycle.ts';
import { registerLoopMetrics } from './register-loop-metrics.ts';

export type LoopOptions = {
  readonly configuration: Configuration;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly store: Store;
  /** Runs after each build, before its releases are published. Must not throw. */
  readonly beforePublish: (term: Term) => Promise<void>;
  /** Gets the loop when it has started, and undefined when it ends. */
  readonly onWatch: (watch: Pick<Watch, 'trouble'> | undefined) => void;
};

/** Between two looks at the gates without news. Reports that another process imports are found then. */
const JUDGE_MS = 30_000;
const JUDGE_CYCLE = { share: 0.1, maxPauseMs: JUDGE_MS };

/**
 * The loop that builds and publishes when a repository changes, and the one that judges the links of the chain. Needs a platform.
 * Disposal aborts the current steps and waits for them.
 */
export const loopDuty =
  ({ configuration, clock, log, metrics, store, beforePublish, onWatch }: LoopOptions): Duty =>
  async (term) => {
    // Imported on demand: a hub without a platform does not load the build modules.
    const { watchPlatform } = await import('../watch/watch-platform.ts');
    const { createLinkJudge } = await import('./judge-links.ts');
    const { createStatusSetter } = await import('./commit-statuses.ts');
    const { createCheckAsker } = await import('./ask-checks.ts');
    const { readPromotion } = await import('../promote/facts/link.ts');
    const { openChanges } = await import('../promote/facts/read-changes.ts');
    const { platformOptions } = await import('../../load/platform/platform-options.ts');
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, term.signal]);
    const places = { env: process.env, cwd: process.cwd() };
    const asker = createCheckAsker({
      configuration,
      env: process.env,
      store,
      clock,
      log,
      random: Math.random,
      onNews: () => judging.wake(),
    });
    const judge = createLinkJudge({
      askChecks: asker.ask,
      configuration,
      store,
      clock,
      log,
      confirm: term.confirm,
      readChain: (signal) => readPromotion(platformOptions(configuration, { ...places, signal })),
      openChanges: openChanges(configuration, places),
      onPromoted: () => watch.wake(),
    });
    const judging = repeat(
      limitDutyCycle(judge.round, JUDGE_CYCLE),
      JUDGE_MS,
      logFailure(log, 'judging the promotions', 'promotions not judged'),
    );
    const { commitStatuses } = configuration;
    const statuses =
      commitStatuses &&
      createStatusSetter({
        configuration,
        commitStatuses,
        store,
        clock,
        log,
        env: process.env,
        random: Math.random,
      });
    // Beside the judgement: a forge that does not answer holds no promotion up.
    const statusLoop =
      statuses &&
      repeat(
        limitDutyCycle(statuses.round, JUDGE_CYCLE),
        JUDGE_MS,
        logFailure(log, 'judging what commit statuses say', 'commit statuses not judged'),
      );
    const watch = watchPlatform(
      {
        configuration,
        ...places,
        clock,
        log,
        random: Math.random,
        confirm: term.confirm,
        beforePublish: (signal) => beforePublish({ confirm: term.confirm, signal }),
        readClusters: () => readClusters(store),
        keepCommits: (commits) => keepTreeCommits(store, commits, clock()),
        keepPolicies: async (promotion) => {
          judge.follow(promotion);
          judging.wake();
          statuses?.follow(promotion);
          statusLoop?.wake();
          await recordFreshness(store, promotion.freshnessPolicies);
        },
      },
      signal,
    );
    const metered = registerLoopMetrics(metrics.registry, watch);
    onWatch(watch);
    return {
      wake: (what) => {
        if (what === 'build') watch.wake();
        if (what === 'judge') judging.wake();
      },
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        onWatch(undefined);
        metered[Symbol.dispose]();
        await statusLoop?.[Symbol.asyncDispose]();
        await judging[Symbol.asyncDispose]();
        await asker[Symbol.asyncDispose]();
        await watch.done;
      },
    };
  };
