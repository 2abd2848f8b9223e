import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { Owner } from '../desired/marks.ts';
import type { Wanted } from '../desired/resolve-wanted.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { OwnedState } from '../owned-state.ts';

/** What every part of a plan looks at. */
export type PlanContext = {
  readonly options: KubernetesTargetOptions;
  readonly api: KubernetesApi;
  /** Of what shall be; the assignment is '' when the package goes, and its inventory says whose it was. */
  readonly owner: Owner;
  /** undefined: the package goes. */
  readonly wanted: Wanted | undefined;
  /** Identity of the package as it shall be; '' when it goes. */
  readonly packageId: string;
  readonly owned: ReadonlyMap<string, OwnedState>;
  /** Keys of other packages -> their assignment. */
  readonly taken: ReadonlyMap<string, string>;
  readonly live: ReadonlyMap<string, LiveObject>;
  readonly signal: AbortSignal;
};
