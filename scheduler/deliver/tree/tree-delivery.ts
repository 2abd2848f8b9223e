import type { FleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import type { HeldAssignment, HeldWorkload } from '../../model/model.ts';
import type { CommitIdentity } from '../git/commit-identity.ts';
import type { TreeCluster } from '../git/cluster-folder.ts';
import type { PlaceOptions } from './load-place.ts';
import type { TreeTarget } from './tree-target.ts';

export type TreeDelivery = PlaceOptions & {
  readonly to: TreeTarget;
  /** Default: all. */
  readonly environments?: readonly string[];
  /** Committer; default: our own identity, unsigned. */
  readonly identity?: CommitIdentity;
  /** Push to a separate branch and, with a token, open a pull request, instead of committing to the branch. */
  readonly pullRequest: boolean;
  readonly forge: string | undefined;
  readonly connection: RegistryOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly dryRun?: boolean;
  readonly now: Date;
  /** Clusters that follow folders of their own on a Git branch. Without it such folders stay as they are. */
  readonly clusters?: readonly TreeCluster[];
  /** Called after each environment. */
  readonly onDelivered?: (delivered: Delivered) => void;
};

/** A package that is not in a cluster's folder, because of a value of the site. */
export type HeldAtCluster = {
  /** '<site>/<name>' */
  readonly cluster: string;
  readonly assignment: string;
  readonly error: FleetError;
};

/** Result for one environment's tree. */
export type Delivered = {
  readonly environment: string;
  /** '<repository URL without credentials> <branch>', or the folder; undefined if it failed. */
  readonly to: string | undefined;
  readonly outcome:
    | 'pushed'
    | 'proposed'
    | 'written'
    | 'unchanged'
    | 'declined'
    | 'planned'
    | 'waiting'
    | 'failed';
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** '<cluster type>/<deployment target>' of the packages whose folder is removed. */
  readonly removedPackages: readonly string[];
  readonly unchanged: number;
  readonly commit?: string | undefined;
  /** The branch of the proposal. */
  readonly proposal?: string | undefined;
  /** URL of the pull request, for people. */
  readonly pullRequest?: string | undefined;
  readonly superseded: readonly string[];
  readonly held: readonly HeldAssignment[];
  readonly heldWorkloads: readonly HeldWorkload[];
  readonly advice: readonly FleetError[];
  readonly heldAtClusters?: readonly HeldAtCluster[];
  /** Why the tree was not delivered. */
  readonly problems: readonly FleetError[];
  /** NOT_PROMOTED, set with 'waiting'. */
  readonly waits?: FleetError;
};
