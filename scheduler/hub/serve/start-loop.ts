import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { FleetError } from '#bundles/errors';
import type { Configuration } from '../../settings/configuration.ts';
import { resetHubFlags } from '../../v8-flags.ts';
import { readWebhookSecret } from '../watch/read-webhook-secret.ts';
import { verifyWebhook } from '../watch/verify-webhook.ts';
import { recordFreshness } from '../status/freshness-policies.ts';
import type { Store } from '../store/open-store.ts';
import type { CheckRoutes } from '../http/check-routes.ts';
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
};

/** Between two looks at the gates without news. Reports that another process imports are found then. */
const JUDGE_MS = 30_000;
/** Judging takes at most this part of the time: at thousands of sites a report comes with every second. */
const JUDGE_SHARE = 0.1;

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
  const judge = makeLinkJudge({
    askChecks: asker.ask,
    configuration,
    store,
    clock,
    log,
    readChain: (signal) => readPromotion(platformOptions(configuration, { ...places, signal })),
    onPromoted: () => watch.poke(),
  });
  const judging = repeat(async (signal) => {
    const started = performance.now();
    await judge.round(signal);
    const pauseMs = (performance.now() - started) / JUDGE_SHARE;
    await setTimeout(pauseMs, undefined, { signal }).catch(() => {});
  }, JUDGE_MS);
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
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await judging[Symbol.asyncDispose]();
      await asker[Symbol.asyncDispose]();
      await watch.done;
    },
  };
};
