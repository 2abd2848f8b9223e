import type { Target } from './apply/target.ts';
import type { Edge } from './edge.ts';
import type { ImageProvider } from './images/image-provider.ts';
import type { Identity } from './store/identity.ts';
import type { State } from './store/state.ts';

export type Policy = {
  /** What a run does about live state that differs. */
  readonly onDrift: 'correct' | 'report';
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
  /** Bytes free for us on the disk of a directory. */
  readonly freeBytes: (directory: string) => Promise<number>;
  /** Called at every boundary of the journal: a test program can kill itself there. */
  readonly onJournal: (point: string) => void;
  readonly signal: AbortSignal;
  /** Aborted when a newer release is ready: no other package is begun, and no health is waited for, until it is accepted. */
  readonly news?: AbortSignal | undefined;
};
