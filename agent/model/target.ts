import type { Bounds } from '#bundles/formats/bounds/bounds-of';
import type { ApplyRules, ObjectRule, SiteInputField } from '#bundles/formats/bundle/config';
import type { BundleKind } from '#bundles/names';
import type { Json } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Outcome } from '#bundles/formats/events/event';
import type { AgentFacts, Happening } from './agent-facts.ts';
import type { Machine } from './machine.ts';
import type { PackageSecrets } from './package-secrets.ts';

/**
 * The interface to what the agent applies packages to: a host or a cluster's API. Plans and results are plain data, so
 * that a plan can be printed, stored in the journal and resumed after a power cut.
 */

/** The desired state of a package: bytes from the verified store, with site values resolved. */
export type DesiredPackage = {
  readonly assignment: string;
  readonly package: Digest;
  /** Digest of the site values document; together with `package` it identifies the running state. */
  readonly siteValues: Digest;
  /** Path inside the package folder to bytes; package.json or manifests among them. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Source of files that are too large for memory; absent if there are none. */
  readonly blobs?: BlobSource;
  /** Site values to put into exact fields, already validated against the bundle's schema. */
  readonly siteInputs: readonly (SiteInputField & { readonly value: Json })[];
  /** Names that the package may use on the host; absent for a package of the platform team. */
  readonly bounds?: Bounds;
  /** The platform's rules for applying the package; absent: the defaults. Kubernetes. */
  readonly rules?: Pick<ApplyRules, 'adopt'>;
  /** The platform's rules for objects of the package; absent: none. Kubernetes. */
  readonly objectRules?: readonly ObjectRule[];
  /** The workspace of a package on a cluster; absent for a package of the platform team. */
  readonly tenant?: Tenant;
  /** The opened secrets of the package; absent if it has none. */
  readonly secrets?: PackageSecrets;
  /** True for a correction, a look at health and the way back after a failure: the target ran this package, and does as much of it as it can. */
  readonly ranBefore?: true;
  /** True to plan nothing but the removal of objects that the package no longer has. */
  readonly onlyRemovals?: true;
};

/** The workspace of a package, and the namespaces that it must not write to. */
export type Tenant = {
  readonly workspace: string;
  /** Namespaces that the bundle gives to packages of other workspaces, and to none of this one. */
  readonly foreign: ReadonlySet<string>;
};

/** One thing that an applied package owns. `key` is unique on the target ('file:/etc/x', 'unit:x.service'). */
export type OwnedObject = {
  readonly key: string;
  /**
   * The applied state as plain JSON: what the target needs to detect drift and to delete the object safely. `given` names
   * the package that is to take the object over, because this one no longer wants it (stage.ts).
   */
  readonly state: { readonly [key: string]: Json };
};

/** One idempotent change; safe to repeat after a crash at any point. The target defines `kind` and `detail`. */
export type Step = {
  readonly key: string;
  readonly kind: string;
  /** The outcome on success; 'unchanged' steps are listed and do nothing. */
  readonly outcome: Outcome;
  /** The reason, for people: 'content differs', 'mode 0644 -> 0600'. Contains no secret and no file content. */
  readonly reason: string;
  readonly detail: { readonly [key: string]: Json };
  /** Consecutive steps of the same group may run concurrently and in any order. */
  readonly group?: number;
  /**
   * Removes an object that the package no longer has. In an update it runs once the package is healthy. If it fails, the object stays in
   * the inventory as `leaving` and the agent tries again; the update stands. All removals follow all other steps of a plan.
   */
  readonly removal?: true;
  /** Waits for the objects of steps before it: nothing is put off behind it, and a stop or a newer release interrupts it. */
  readonly isBarrier?: true;
  /** If it fails for a cause that other steps of the plan may end, it is tried again after them, for up to `Target.retryMs`. */
  readonly mayWait?: true;
};

export type Plan = {
  readonly steps: readonly Step[];
  /** All objects that the package owns after the plan; written to the inventory before the first step. */
  readonly owns: readonly OwnedObject[];
};

export type StepResult = {
  readonly key: string;
  readonly outcome: Outcome;
  readonly reason: string;
  /**
   * State that is known only after the step (a uid, a hash of the server's result); merged into the owned object's state.
   * `leaving`: the object is being deleted and something holds it. It stays in the inventory, and later groups do not run.
   */
  readonly state?: { readonly [key: string]: Json } & { readonly leaving?: Leaving };
};

/** When the deletion of an object began (by the target's clock; '' if unknown), and what holds the object. */
export type Leaving = { readonly since: string; readonly message: string };

/** Result of one health check of a package after it settled. */
export type CheckResult = {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Identical for the same failure: the agent compares messages to detect a new failure. */
  readonly message: string;
  /** The first bytes of a failed program's output, or a failed unit's last lines in the journal, without secrets. */
  readonly output?: string;
  /** Key of the object that could not be compared with the package (Drift.unchecked). */
  readonly key?: string;
};

/** One difference between live state and the applied package. */
export type Drift = {
  readonly key: string;
  /** 'missing', 'content', 'mode', 'owner', 'inactive', 'disabled', 'extra' ... */
  readonly what: string;
  readonly message: string;
  /** An addition to what the package specifies; a correction leaves it in place. */
  readonly stays?: true;
  /** No difference: the object cannot be compared with the package here, so nobody knows, and nothing is done about it. */
  readonly unchecked?: true;
};

/** An object that exists on the target without an owner of ours, and what happens to it. Paths of fields, never values. */
export type Adoption = {
  readonly key: string;
  /** The tool that it belongs to: 'Helm (meta.helm.sh/release-name: shop)', 'nobody'. */
  readonly owner: string;
  readonly verdict: 'taken over' | 'refused';
  /** Why it is refused, and what to do. */
  readonly why?: string;
  /** Fields that the package changes. */
  readonly changes: readonly string[];
  /** Fields of the tool that deployed it which the package does not have: they are removed. */
  readonly removes: readonly string[];
  /** Field managers whose fields become ours. */
  readonly managers: readonly string[];
};

/** How many copies of replaced files or objects were removed, and their size. */
export type Pruned = { readonly files: number; readonly bytes: number };

/** Finding of `doctor` about one thing that packages depend on. */
export type Examined = {
  readonly name: string;
  readonly verdict: 'good' | 'warning' | 'bad';
  readonly message: string;
};

export type Target = {
  readonly kind: BundleKind;
  /** The machine that packages are applied to, where it is a booted host. Absent for a cluster, and for a folder that stands for '/'. */
  readonly machine?: Machine;
  /**
   * Compares live state with desired state. `desired` undefined: the plan removes the package. Writes nothing.
   * @param owned objects of this package in the inventory (write-ahead entries included)
   * @param taken keys owned by other packages -> their assignment
   * @throws FleetError PATH_CLAIMED, and errors of reading the package and the live state
   */
  readonly plan: (
    desired: DesiredPackage | undefined,
    owned: readonly OwnedObject[],
    taken: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ) => Promise<Plan>;
  /** Existing objects that the plan of a package takes over, or refuses to. Absent: this target takes nothing over. Errors as those of `plan`. */
  readonly adoptions?: (
    desired: DesiredPackage,
    owned: readonly OwnedObject[],
    taken: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ) => Promise<readonly Adoption[]>;
  /**
   * Keys that a package will own, without asking the target; a superset where only the target could decide. Absent: packages
   * that stay do not hand objects over to each other. Throws the FleetError of reading the package.
   */
  readonly wants?: (desired: DesiredPackage) => ReadonlySet<string>;
  /**
   * Keys of the objects that a package takes over or creates, read from its files alone: without secrets, site values and requests. Absent:
   * unknown, so that the removal of any package may wait for it. Throws the FleetError of reading the package.
   */
  readonly claims?: (desired: DesiredPackage) => ReadonlySet<string>;
  /**
   * The longest time that a package may take, in seconds: the same for all, or by its own timeouts, read from its files alone. Absent: not
   * known. Throws the FleetError of reading the package.
   */
  readonly seconds?: number | ((desired: DesiredPackage) => number);
  /**
   * Keys of the inventory that name an object by a name that leads to another key today -> today's key, where the target
   * has several names for one object: paths of a host. Absent: a key is the only name. Writes nothing.
   */
  readonly currentKeys?: (keys: Iterable<string>) => Promise<ReadonlyMap<string, string>>;
  /**
   * Which of these keys the objects of a package name, such as a ConfigMap that a pod mounts, without asking the target. Absent: removals
   * do not wait for other packages. Throws the FleetError of reading the package.
   */
  readonly named?: (desired: DesiredPackage, keys: readonly string[]) => readonly string[];
  /** How long a step with `mayWait` is tried again, in milliseconds. Absent: not at all. */
  readonly retryMs?: number;
  /** Executes one step; idempotent. @throws FleetError APPLY_FAILED, UNIT_FAILED, DISK_FULL, PERMISSION */
  readonly execute: (
    step: Step,
    desired: DesiredPackage | undefined,
    signal: AbortSignal,
  ) => Promise<StepResult>;
  /**
   * Whether applying a package reboots the machine, read from its files and from live state. Absent: no package does.
   * @throws FleetError as `plan`
   */
  readonly reboots?: (desired: DesiredPackage, signal: AbortSignal) => Promise<boolean>;
  /** True if other packages may be applied while one waits for its health. Absent: one after the other. */
  readonly waitsBeside?: true;
  /** Waits until the package is healthy or has failed. An unhealthy package is a result, not an error. */
  readonly settle: (desired: DesiredPackage, signal: AbortSignal) => Promise<readonly CheckResult[]>;
  /**
   * Which of these objects, which were just applied, are not there any more. If a wait for health failed, they are applied again and waited
   * for again, a few times. Absent: a wait that failed is final. Writes nothing. @throws FleetError as `observe`
   */
  readonly gone?: (
    desired: DesiredPackage,
    applied: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /**
   * Runs the hooks that a package has for its failure, before the way back. A call with the same `attempt` continues with those of an
   * earlier one. Absent: the target has none. @throws FleetError ABORTED, API_UNREACHABLE, or that of reading the package
   */
  readonly afterFailure?: (
    failed: DesiredPackage,
    attempt: string,
    signal: AbortSignal,
  ) => Promise<readonly StepResult[]>;
  /** Deletes the hooks of a failed package that have ended and should go then. Returns those that stay. Idempotent. @throws FleetError as `afterFailure` */
  readonly endFailure?: (failed: DesiredPackage, signal: AbortSignal) => Promise<readonly CheckResult[]>;
  /**
   * Whether a look leaves open that a package is well: `observe` has just seen an object that is not, or there are checks that it does not
   * make. Asks nothing. Absent: `observe` sees everything.
   */
  readonly leavesOpen?: (desired: DesiredPackage) => boolean;
  /** Whether the checks that `observe` does not make pass at the first try. Absent: `settle` decides. @throws FleetError ABORTED */
  readonly passesChecks?: (desired: DesiredPackage, signal: AbortSignal) => Promise<boolean>;
  /**
   * Returns the current differences, and what cannot be compared. Writes nothing. @throws FleetError if live state cannot be read, which never counts as in
   * sync
   * @param taken keys owned by other packages -> their assignment; none by default
   */
  readonly observe: (
    desired: DesiredPackage,
    owned: readonly OwnedObject[],
    signal: AbortSignal,
    taken?: ReadonlyMap<string, string>,
  ) => Promise<readonly Drift[]>;
  /** Writes missing files of secrets again, which do not survive a boot. Returns their paths. */
  readonly restore?: (
    desired: DesiredPackage,
    owned: readonly OwnedObject[],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /**
   * Removes copies of replaced files or objects that no package will restore: all of them, or the oldest above the limit.
   * @throws FleetError PERMISSION, IO
   */
  readonly pruneCopies?: (which: 'all' | 'too many') => Promise<Pruned>;
  /**
   * Shows the agent and what happened where people of the target look. Returns what prevents a part of it: sentences for the log.
   * @throws FleetError API_UNREACHABLE, ABORTED
   */
  readonly show?: (
    facts: AgentFacts,
    happenings: readonly Happening[],
    now: Date,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** For `doctor`: checks presence and permissions. Changes nothing; findings are returned, not thrown. */
  readonly examine?: (signal: AbortSignal) => Promise<readonly Examined[]>;
  /**
   * Runs work that changes the target while no other agent does. The signal passed to the work is also aborted when exclusive
   * access is lost. @throws FleetError BUSY when another agent is at work, or the error of reaching the target
   */
  readonly exclusive?: <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /**
   * Watches owned objects until the signal is aborted and passes batches of changed or deleted keys to `onChange`. A batch is
   * a hint to look, not proof of drift. An unreachable target is retried and is not an error.
   */
  readonly watch?: (
    owned: readonly OwnedObject[],
    onChange: (keys: readonly string[]) => void,
    signal: AbortSignal,
  ) => Promise<void>;
};
