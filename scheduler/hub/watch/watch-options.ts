import type { Logger } from 'pino';
import type { Promotion } from '../../model/promotion.ts';
import type { TreeCluster } from '../../deliver/git/cluster-folder.ts';
import type { TreeCommit } from '../../deliver/tree/read-commits.ts';
import type { Configuration } from '../../settings/configuration.ts';

/** Dependencies of the loop. */
export type WatchOptions = {
  /** Requires platform, keys and layout; uses registry, poll, environments and images if set. */
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly clock: () => Date;
  /** Proves that this process still leads (lead.ts). Called before irreversible steps. */
  readonly confirm?: () => Promise<void>;
  /** Called after each build with the chain and the policies of the platform as the build read them. */
  readonly keepPolicies?: (promotion: Promotion) => Promise<void>;
  /** Called after each build, before its releases are published. Must not throw. */
  readonly beforePublish?: (signal: AbortSignal) => Promise<void>;
  /** Clusters that follow by Flux or Argo CD, for folders of their own in the trees. */
  readonly readClusters?: () => Promise<readonly TreeCluster[]>;
  /** Keeps what the clusters find at commits of the trees. */
  readonly keepCommits?: (commits: readonly TreeCommit[]) => Promise<void>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Returns 0 to 1; spreads the checks of many schedulers. */
  readonly random: () => number;
};
