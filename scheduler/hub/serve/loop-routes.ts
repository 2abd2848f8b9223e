import type { Logger } from 'pino';
import { headerIn } from '#bundles/header-in';
import { FleetError } from '#bundles/errors';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { resetHubFlags } from '../../v8-flags.ts';
import type { CheckRoutes } from '../http/hooks/check-routes.ts';
import type { DecisionOptions } from '../http/decisions/decision-server.ts';
import type { HookRoutes } from '../http/hooks/hook-routes.ts';
import type { Store } from '../store/open-store.ts';
import { readWebhookSecret } from '../webhook/read-webhook-secret.ts';
import { verifyWebhook } from '../webhook/verify-webhook.ts';
import type { Wakeup } from './lead.ts';

export type LoopRoutesOptions = {
  readonly configuration: Configuration;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly store: Store;
  /** Wakes the loop, at whichever replica it runs. */
  readonly wake: (what: Wakeup) => void;
  /** Aborts when the hub stops. */
  readonly signal: AbortSignal;
};

/** Routes of a hub with a platform, served by every replica. */
export type LoopRoutes = {
  readonly hooks: HookRoutes | undefined;
  readonly checks: CheckRoutes | undefined;
  readonly decisions: DecisionOptions;
};

/** How old the chain may be that questions are answered with. Decisions read it anew. */
const CHAIN_MS = 10_000;

/** @returns undefined if no platform is configured @throws FleetError USAGE for `poll`, CONFIG_INVALID for a secret */
export const createLoopRoutes = async ({
  configuration,
  clock,
  log,
  store,
  wake,
  signal,
}: LoopRoutesOptions): Promise<LoopRoutes | undefined> => {
  if (configuration.platform === undefined) return undefined;
  const { webhookSecretFile: secretFile, checkSecretFile, poll } = configuration;
  // The schema validates the file; the value may also come from a flag.
  if (poll !== undefined && !/^[1-9]\d{0,4}[smh]$/.test(poll)) {
    throw new FleetError('USAGE', `${JSON.stringify(poll.slice(0, 80))} is not a time between two looks`, {
      hint: 'Write it like 30s, 5m or 1h',
    });
  }
  // Reports a bad secret at start, not at the first webhook.
  for (const file of [secretFile, checkSecretFile]) if (file !== undefined) await readWebhookSecret(file);
  resetHubFlags();
  // Imported on demand: a hub without a platform does not load the modules that read one.
  const { takeAnswer } = await import('./ask-checks.ts');
  const { readPromotion } = await import('../promote/facts/link.ts');
  const { openChanges } = await import('../promote/facts/read-changes.ts');
  const { platformOptions } = await import('../../load/platform/platform-options.ts');
  const { readCommit } = await import('../../load/sources/read-commit.ts');
  const platform = platformOptions(configuration, { env: process.env, cwd: process.cwd(), signal });
  const readChain = () => readPromotion(platform);
  return {
    hooks:
      secretFile === undefined
        ? undefined
        : {
            verify: async (headers, body) => {
              verifyWebhook(headers, body, await readWebhookSecret(secretFile));
            },
            wake: () => wake('build'),
          },
    checks:
      checkSecretFile === undefined
        ? undefined
        : {
            take: async (id, headers, body) => {
              const header = headerIn(headers);
              await takeAnswer({ store, clock, log, secretFile: checkSecretFile }, id, { header, body });
              wake('judge');
            },
          },
    decisions: {
      readKeys: () => openKeyDirectory(requireSetting(configuration, 'keys')),
      readPromotion: atMostEvery(CHAIN_MS, readChain),
      openChanges: openChanges(configuration, { env: process.env, cwd: process.cwd() }),
      readCommit: (source) =>
        readCommit(source, { cacheDirectory: platform.cacheDirectory, env: process.env, signal }),
      wake: () => wake('build'),
      signal,
    },
  };
};

/** Shares one result of `read` among all calls within `ms`, except calls with `fresh`. A failure is not kept. */
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
