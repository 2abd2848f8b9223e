import type { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { Adopt } from '../desired/adopt.ts';
import type { Ranks } from '../desired/ranks-of.ts';
import type { Owner } from '../desired/marks.ts';
import type { Wanted } from '../desired/resolve-wanted.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { Autoscaled } from '../live/autoscaled.ts';
import type { OwnedState } from '../owned-state.ts';

/** An existing object of the package that no package of ours owns. */
export type Takeover = {
  readonly live: LiveObject;
  /** The tool that it belongs to, by its labels, annotations or owner reference: 'Flux (kustomize.toolkit.fluxcd.io/name: apps)'. undefined: none. */
  readonly controller: string | undefined;
  /** False if the object by which the controller managed it is gone from the cluster. */
  readonly isOwned: boolean;
  readonly rules: readonly Adopt[];
};

/** Rules of the release for the package as a whole. */
export type PackageRules = {
  /** True for a package of a workspace: its objects' annotations hold only within what the platform grants. */
  readonly isTenant: boolean;
  readonly adopt?: Adopt;
};

/** Input of all parts of a plan. */
export type PlanContext = {
  readonly options: KubernetesTargetOptions;
  readonly api: KubernetesApi;
  /** OwnedState.by of an object. */
  readonly appliedBy: (key: string) => string | undefined;
  /** The owner mark of the desired objects; the assignment is '' for a removal, whose inventory has the owner. */
  readonly owner: Owner;
  /** undefined: the package is removed. */
  readonly wanted: Wanted | undefined;
  /** Identity of the desired package; '' for a removal. */
  readonly packageId: string;
  /** True for a correction and on the way back after a failure (DesiredPackage). */
  readonly ranBefore: boolean;
  readonly owned: ReadonlyMap<string, OwnedState>;
  /** Keys of other packages -> assignment. */
  readonly taken: ReadonlyMap<string, string>;
  readonly live: ReadonlyMap<string, LiveObject>;
  /** Keys of objects that cannot be read, because a webhook or API service behind them does not answer. */
  readonly unread: ReadonlyMap<string, FleetError>;
  readonly autoscaled: Autoscaled;
  readonly rules: PackageRules;
  readonly ranks: Ranks;
  /** The existing objects that the package takes over, by key. */
  readonly takeovers: ReadonlyMap<string, Takeover>;
  readonly signal: AbortSignal;
};
