import type { Progress } from '#bundles/program/progress';
import type { ImagePolicy } from '#bundles/signatures/image-policy';
import type { Target } from './apply/target.ts';
import type { Edge } from './edge.ts';
import type { ImageProvider } from './images/image-provider.ts';
import type { Identity } from './store/identity.ts';
import type { State } from './store/state.ts';

export type Policy = {
  /** What a run does about live state that differs. */
  readonly onDrift: 'correct' | 'report';
  /** What it does when nothing vouches any more for the release being the newest. */
  readonly onStale: 'continue' | 'block-changes';
  /** May a person here import what has ended? */
  readonly breakGlass: boolean;
  readonly maxValidityDays: number;
  /** Packages one release may remove without being asked. */
  readonly pruneBudget: number;
};

/** Everything a verb of the agent works with; made once at the edge, replaced piece by piece in tests. */
export type Agent = {
  readonly state: State;
  readonly identity: Identity;
  readonly targets: readonly Target[];
  /** What keeps the images of Kubernetes packages here. */
  readonly images: readonly ImageProvider[];
  readonly edge: Edge;
  readonly policy: Policy;
  /** Signatures that images must carry here, whatever the bundle asks for. */
  readonly imagePolicy?: readonly ImagePolicy[] | undefined;
  /** Bytes free for us on the disk of a directory. */
  readonly freeBytes: (directory: string) => Promise<number>;
  /** Called at every boundary of the journal: a test program can kill itself there. */
  readonly onJournal: (point: string) => void;
  readonly signal: AbortSignal;
  /** Told how far long copying is, where a person waits for it. */
  readonly progress?: Progress | undefined;
  /** Aborted when a newer release is ready: no other package is begun, and no health is waited for, until it is accepted. */
  readonly news?: AbortSignal | undefined;
};
