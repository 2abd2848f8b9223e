import type { KeyDirectory } from '../keys/key-directory.ts';
import type { ValuesReview } from '../settings/values-review.ts';
import type { FactLabel } from '../settings/configuration.ts';
import type { Store } from './store/open-store.ts';

/** Resources of the hub's commands: the fleet's keys, the database, and the layout for statements and receipts. */
export type Hub = AsyncDisposable & {
  readonly keys: KeyDirectory;
  readonly store: Store;
  /** OCI layout directory; may not exist yet. */
  readonly layout: string;
  /** Rules that make labels of the facts of a machine at its enrolment. */
  readonly factLabels?: readonly FactLabel[] | undefined;
  /** Whether changes of values by people follow the stages of an environment; one without an entry has them. */
  readonly valuesStages?: ValuesReview['rollout'];
};
