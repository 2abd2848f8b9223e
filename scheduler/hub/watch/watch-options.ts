import type { Logger } from 'pino';
import type { FreshnessPolicy } from '../../model/promotion.ts';
import type { Configuration } from '../../settings/configuration.ts';

/** Dependencies of the loop. */
export type WatchOptions = {
  /** Requires platform, keys and layout; uses registry, poll, environments and images if set. */
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly clock: () => Date;
  /** Stores the freshness policies of the platform after each build, for `status` and the metrics. */
  readonly keepFreshness?: (policies: readonly FreshnessPolicy[]) => Promise<void>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Returns 0 to 1; spreads the checks of many schedulers. */
  readonly random: () => number;
};
