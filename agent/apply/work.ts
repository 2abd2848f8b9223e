import type { Agent } from '../store/agent.ts';
import type { Operation } from '../store/journal/operations.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import type { DesiredPackage, Target } from '../model/target.ts';

/** An operation in progress: its journal row, its goal, and the target that executes it. */
export type Work = {
  readonly agent: Agent;
  readonly target: Target;
  readonly operation: Operation;
  /** The package to run at the end of the current direction; undefined: the package is removed. */
  readonly goal: PackageRef | undefined;
  /** Loads and verifies the goal from the store. @throws FleetError as loadPackage */
  readonly load: () => Promise<DesiredPackage | undefined>;
  /** Loads the package that the operation began to apply. @throws FleetError as loadPackage */
  readonly loadTried: () => Promise<DesiredPackage | undefined>;
  /** Keys of objects that what runs of another package names -> that package, which does not run as desired yet. */
  readonly neededBy?: ReadonlyMap<string, string>;
};
