import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { FleetError } from '#bundles/errors';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { resetHubFlags } from '../../v8-flags.ts';
import { readWebhookSecret } from '../watch/read-webhook-secret.ts';
import { verifyWebhook } from '../watch/verify-webhook.ts';
import { recordFreshness } from '../status/freshness-policies.ts';
import type { Store } from '../store/open-store.ts';
import type { CheckRoutes } from '../http/check-routes.ts';
import type { DecisionOptions } from '../http/decisions/decision-routes.ts';
import type { HookRoutes } from '../http/hook-routes.ts';
import type { Metrics } from '../http/metrics.ts';
import { repeat } from './repeat.ts';
import { tellLoop } from './tell-loop.ts';

export type LoopOptions = {
  readonly configuration: Configuration;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly store: Store;
};

/**
 * The loop that builds and publishes when a repository changes, and the one that judges the links of the chain. Disposal aborts the
 * current steps and waits for them.
 */
export type Loop = AsyncDisposable & {
  readonly hooks: HookRoutes | undefined;
  readonly checks: CheckRoutes | undefined;
  /** Judges the links soon. May be called at any time, and costs nothing. */
  readonly onReport: () => void;
  readonly decisions: DecisionOptions;
};

/** Between two looks at the gates without news. Reports that another process imports are found then. */
const JUDGE_MS = 30_000;
/** Judging takes at most this part of the time: at thousands of sites a report comes with every second. */
const JUDGE_SHARE = 0.1;

/** How old the chain may be that questions are answered with. Decisions read it anew. */
const CHAIN_MS = 10_000;

/** Shares what `read` found among the calls within `ms`, unless one wants it fresh. A failure is not kept. */
const atMostEvery = <T>(ms: number, read: () => Promise<T>): ((fresh: boolean) => Promise<T>) => {
  let last: { readonly found: Promise<T>; readonly at: number } | undefined;
  return async (fresh) => {
    const now = performance.now();
    if (fresh || last === undefined || now - last.at >= ms) last = { found: read(), at: now };
    const mine = last;
    return mine.found.catch((error: unknown) => {
      if (last === mine) last = undefined;
      throw error;
    });
  };
};

/** Lets `round` take at most JUDGE_SHARE of the time. */
const seldom =
  (round: (signal: AbortSignal) => Promise<void>) =>
  async (signal: AbortSignal): Promise<void> => {
    const started = performance.now();
    await round(signal);
    const pauseMs = (performance.now() - started) / JUDGE_SHARE;
    await setTimeout(pauseMs, undefined, { signal }).catch(() => {});
  };

/** @returns undefined if no platform is configured @throws FleetError USAGE for `poll`, CONFIG_INVALID for the webhook secret */
export const startLoop = async ({
  configuration,
  clock,
  log,
  metrics,
  store,
}: LoopOptions): Promise<Loop | undefined> => {
  if (configuration.platform === undefined) return undefined;
  const { webhookSecretFile: secretFile, checkSecretFile, poll } = configuration;
  // The schema validates the file; the value may also come from a flag.
  if (poll !== undefined && !/^[1-9]\d{0,4}[smh]$/.test(poll)) {
    throw new FleetError('USAGE', `${JSON.stringify(poll.slice(0, 80))} is no time between two looks`, {
      hint: 'Write it like 30s, 5m or 1h',
    });
  }
  // Reports a bad secret at start, not at the first webhook.
  for (const file of [secretFile, checkSecretFile]) if (file !== undefined) await readWebhookSecret(file);
  resetHubFlags();
  // Imported on demand: a hub without a platform does not load the build modules.
  const { watchPlatform } = await import('../watch/watch-platform.ts');
  const { makeLinkJudge } = await import('./judge-links.ts');
  const { makeStatusSetter } = await import('./commit-statuses.ts');
  const { makeCheckAsker, takeAnswer } = await import('./ask-checks.ts');
  const { readPromotion } = await import('../gate/link.ts');
  const { platformOptions } = await import('../../load/platform/platform-options.ts');
  const stop = new AbortController();
  const places = { env: process.env, cwd: process.cwd() };
  const asker = makeCheckAsker({
    configuration,
    env: process.env,
    store,
    clock,
    log,
    random: Math.random,
    onNews: () => judging.poke(),
  });
  const readChain = (signal: AbortSignal) =>
    readPromotion(platformOptions(configuration, { ...places, signal }));
  const judge = makeLinkJudge({
    askChecks: asker.ask,
    configuration,
    store,
    clock,
    log,
    readChain,
    onPromoted: () => watch.poke(),
  });
  const judging = repeat(seldom(judge.round), JUDGE_MS);
  const { commitStatuses } = configuration;
  const statuses =
    commitStatuses &&
    makeStatusSetter({
      configuration,
      commitStatuses,
      store,
      clock,
      log,
      env: process.env,
      random: Math.random,
    });
  // Beside the judgement: a forge that does not answer holds no promotion up.
  const telling = statuses && repeat(seldom(statuses.round), JUDGE_MS);
  const watch = watchPlatform(
    {
      configuration,
      ...places,
      clock,
      log,
      random: Math.random,
      keepPolicies: async (promotion) => {
        judge.follow(promotion);
        judging.poke();
        statuses?.follow(promotion);
        telling?.poke();
        await recordFreshness(store, promotion.freshnessPolicies);
      },
    },
    stop.signal,
  );
  tellLoop(metrics.registry, watch);
  return {
    hooks:
      secretFile === undefined
        ? undefined
        : {
            verify: async (headers, body) => {
              verifyWebhook(headers, body, await readWebhookSecret(secretFile));
            },
            poke: watch.poke,
          },
    checks:
      checkSecretFile === undefined
        ? undefined
        : {
            take: async (id, headers, body) => {
              const header = (name: string): string | undefined => [headers[name]].flat()[0];
              await takeAnswer({ store, clock, log, secretFile: checkSecretFile }, id, { header, body });
              judging.poke();
            },
          },
    onReport: judging.poke,
    decisions: {
      readKeys: () => openKeyDirectory(requireSetting(configuration, 'keys')),
      readPromotion: atMostEvery(CHAIN_MS, () => readChain(stop.signal)),
      poke: watch.poke,
      signal: stop.signal,
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await telling?.[Symbol.asyncDispose]();
      await judging[Symbol.asyncDispose]();
      await asker[Symbol.asyncDispose]();
      await watch.done;
    },
  };
};
