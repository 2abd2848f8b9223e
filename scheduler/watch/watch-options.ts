import type { Logger } from 'pino';
import type { Configuration } from '../configuration.ts';

/** What the loop works with. */
export type WatchOptions = {
  /** With platform, keys, layout; registry, poll, environments, images where they are said. */
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** 0 to 1: spreads the looks of many schedulers. */
  readonly random: () => number;
};
