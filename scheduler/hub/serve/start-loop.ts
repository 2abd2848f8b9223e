import type { Logger } from 'pino';
import { FleetError } from '#bundles/errors';
import type { Configuration } from '../../settings/configuration.ts';
import { resetHubFlags } from '../../v8-flags.ts';
import { readWebhookSecret } from '../watch/read-webhook-secret.ts';
import { verifyWebhook } from '../watch/verify-webhook.ts';
import { recordFreshness } from '../status/freshness-policies.ts';
import type { Store } from '../store/open-store.ts';
import type { HookRoutes } from '../http/hook-routes.ts';
import type { Metrics } from '../http/metrics.ts';
import { tellLoop } from './tell-loop.ts';

export type LoopOptions = {
  readonly configuration: Configuration;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly store: Store;
};

/** The loop that builds and publishes when a repository changes. Disposal aborts the current step and waits for it. */
export type Loop = AsyncDisposable & { readonly hooks: HookRoutes | undefined };

/** @returns undefined if no platform is configured @throws FleetError USAGE for `poll`, CONFIG_INVALID for the webhook secret */
export const startLoop = async ({
  configuration,
  clock,
  log,
  metrics,
  store,
}: LoopOptions): Promise<Loop | undefined> => {
  if (configuration.platform === undefined) return undefined;
  const { webhookSecretFile: secretFile, poll } = configuration;
  // The schema validates the file; the value may also come from a flag.
  if (poll !== undefined && !/^[1-9]\d{0,4}[smh]$/.test(poll)) {
    throw new FleetError('USAGE', `${JSON.stringify(poll.slice(0, 80))} is no time between two looks`, {
      hint: 'Write it like 30s, 5m or 1h',
    });
  }
  // Reports a bad secret at start, not at the first webhook.
  if (secretFile !== undefined) await readWebhookSecret(secretFile);
  resetHubFlags();
  // Imported on demand: a hub without a platform does not load the build modules.
  const { watchPlatform } = await import('../watch/watch-platform.ts');
  const stop = new AbortController();
  const watch = watchPlatform(
    {
      configuration,
      env: process.env,
      cwd: process.cwd(),
      clock,
      log,
      random: Math.random,
      keepFreshness: (policies) => recordFreshness(store, policies),
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
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watch.done;
    },
  };
};
