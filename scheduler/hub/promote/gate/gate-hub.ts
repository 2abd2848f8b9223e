import type { KeyDirectory } from '../../../keys/key-directory.ts';
import type { Store } from '../../store/open-store.ts';
import type { ReadChanges } from '../facts/facts.ts';

/** Inputs of the gate. */
export type GateHub = {
  readonly keys: KeyDirectory;
  /** OCI layout directory. */
  readonly layout: string;
  /** undefined: this hub has no database, so there are no agents. */
  readonly store: Store | undefined;
  /** undefined: what a candidate changes is not known, so an approval that is limited to workspaces does not count. */
  readonly readChanges?: ReadChanges | undefined;
};
