import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import type { Progress } from '#cli/progress';
import type { Policy } from '../config/policy-of.ts';
import type { Edge } from '../model/edge.ts';
import type { ImageProvider } from '../model/image-provider.ts';
import type { Target } from '../model/target.ts';
import type { Identity } from './identity.ts';
import type { State } from './state.ts';

/** The dependencies of every command of the agent; built once at startup, replaced one by one in tests. */
export type Agent = {
  readonly state: State;
  readonly identity: Identity;
  readonly targets: readonly Target[];
  /** The providers of images for Kubernetes packages. */
  readonly images: readonly ImageProvider[];
  readonly edge: Edge;
  readonly policy: Policy;
  /** Signatures that images must carry on this machine, in addition to what the bundle requires. */
  readonly imagePolicy?: readonly ImagePolicy[] | undefined;
  /** Bytes that the agent may still write to the disk of a directory. */
  readonly freeBytes: (directory: string) => Promise<number>;
  /** Called at every boundary of the journal, so that a test can kill the process there. */
  readonly onJournal: (point: string) => void;
  readonly signal: AbortSignal;
  /** Receives the progress of long copies when a person is waiting. */
  readonly progress?: Progress | undefined;
  /**
   * Obstacle of a reboot of the machine for a package, as one sentence part; undefined: it may begin now. Absent: this process begins
   * none. Rejects with ABORTED only.
   */
  readonly rebootWaits?: (() => Promise<string | undefined>) | undefined;
  /** Aborted when a newer release is ready: until it is accepted, no further package begins and health waits end. */
  readonly news?: AbortSignal | undefined;
};
