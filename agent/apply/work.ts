import type { Agent } from '../agent.ts';
import type { Operation } from '../journal/operations.ts';
import type { PackageRef } from '../store/package-ref.ts';
import type { DesiredPackage, Target } from './target.ts';

/** One operation at work: the journal row as it stands, where it is going, and what carries it out. */
export type Work = {
  readonly agent: Agent;
  readonly target: Target;
  readonly operation: Operation;
  /** What shall run at the end of the way it goes now; undefined removes. */
  readonly goal: PackageRef | undefined;
  /** The goal's files, verified on the way out of the store. @throws FleetError */
  readonly load: () => Promise<DesiredPackage | undefined>;
};
