import type { BundleKind, SiteInputField } from '#bundles/bundle/config';
import type { Json } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Outcome } from '#bundles/report/event';
import type { PackageSecrets } from '../secrets/package-secrets.ts';
import type { Bounds } from './check-bounds.ts';

/**
 * What the agent asks of the thing it applies packages to: a host, a cluster's API. Everything between the two
 * sides is plain data, so that a plan can be printed, stored in the journal and resumed after a power cut.
 */

/** A package as it shall be: bytes out of the verified store, site values already chosen. */
export type DesiredPackage = {
  readonly assignment: string;
  readonly package: Digest;
  /** Digest of the site values document; with `package` it identifies what runs. */
  readonly siteValues: Digest;
  /** Path inside the package folder to bytes; package.json or manifests among them. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Files that are too large for memory, as the store has them; absent where there are none. */
  readonly blobs?: BlobSource;
  /** Site values to put into exact fields, already validated against the bundle's schema. */
  readonly siteInputs: readonly (SiteInputField & { readonly value: Json })[];
  /** What it may name; absent: it is the platform's own. */
  readonly bounds?: Bounds;
  /** What of it is secret, opened; absent where nothing is. */
  readonly secrets?: PackageSecrets;
};

/** One thing that an applied package owns. `key` is unique on the target ('file:/etc/x', 'unit:x.service'). */
export type OwnedObject = {
  readonly key: string;
  /**
   * What it was made to be, as the target needs to see drift and to delete it safely. Plain JSON. `given` names the package that it
   * waits for, since this one no longer wants it (stage.ts).
   */
  readonly state: { readonly [key: string]: Json };
};

/** One idempotent change, doable again after a crash at any byte. `kind` and `detail` belong to the target. */
export type Step = {
  readonly key: string;
  readonly kind: string;
  /** What it will be called when it succeeds; 'unchanged' steps are listed and do nothing. */
  readonly outcome: Outcome;
  /** Why, for a person: 'content differs', 'no init', 'mode 0644 -> 0600'. Never a secret, never file content. */
  readonly reason: string;
  readonly detail: { readonly [key: string]: Json };
  /** Steps next to each other with the same group may be done at the same time, and in any order. */
  readonly group?: number;
};

export type Plan = {
  readonly steps: readonly Step[];
  /** Everything the package owns once the plan is done: written to the inventory before the first step runs. */
  readonly owns: readonly OwnedObject[];
};

export type StepResult = {
  readonly key: string;
  readonly outcome: Outcome;
  readonly reason: string;
  /**
   * What only the doing showed (a uid, a hash of what the server made of it): joins the owned object's state. With `leaving`
   * the object is being deleted and something holds it: it stays in the inventory, and no step of a later group is done.
   */
  readonly state?: { readonly [key: string]: Json } & { readonly leaving?: Leaving };
};

/** Since when an object is being deleted (the target's clock; '' where it does not say), and what holds it. */
export type Leaving = { readonly since: string; readonly message: string };

/** One check of a package's health after it settled. */
export type CheckResult = {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The same for the same failure: it decides whether a failure is news. */
  readonly message: string;
  /** The first bytes that a failed program printed, without the secrets of its package. */
  readonly output?: string;
};

/** Live state differs from the applied package. */
export type Drift = {
  readonly key: string;
  /** 'missing', 'content', 'mode', 'owner', 'inactive', 'disabled', 'extra' ... */
  readonly what: string;
  readonly message: string;
  /** It was added beside what the package says, and a correction leaves it. */
  readonly stays?: true;
};

/** Copies of replaced things that were removed. */
export type Pruned = { readonly files: number; readonly bytes: number };

/** What `doctor` says of one thing that packages depend on. */
export type Examined = {
  readonly name: string;
  readonly verdict: 'good' | 'warning' | 'bad';
  readonly message: string;
};

export type Target = {
  readonly kind: BundleKind;
  /**
   * Compares live state with what shall be. `desired` undefined removes the package. Writes nothing.
   * @param owned what the inventory says this package owns now (write-ahead included)
   * @param taken keys owned by other packages -> their assignment
   * @throws FleetError PATH_CLAIMED and those of reading
   */
  readonly plan: (
    desired: DesiredPackage | undefined,
    owned: readonly OwnedObject[],
    taken: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ) => Promise<Plan>;
  /**
   * Keys of what a package will own, without asking the target; more than that where only the target could tell. Absent: objects
   * are not handed over between packages that stay. @throws FleetError those of reading the package
   */
  readonly wants?: (desired: DesiredPackage) => ReadonlySet<string>;
  /** Does one step; doing it twice is doing it once. @throws FleetError APPLY_FAILED, UNIT_FAILED, DISK_FULL, PERMISSION */
  readonly execute: (
    step: Step,
    desired: DesiredPackage | undefined,
    signal: AbortSignal,
  ) => Promise<StepResult>;
  /** Waits until the package is healthy or not; never throws for an unhealthy one. */
  readonly settle: (desired: DesiredPackage, signal: AbortSignal) => Promise<readonly CheckResult[]>;
  /** What differs now. Writes nothing. @throws FleetError when it cannot tell: never 'in sync' by mistake */
  readonly observe: (
    desired: DesiredPackage,
    owned: readonly OwnedObject[],
    signal: AbortSignal,
  ) => Promise<readonly Drift[]>;
  /** Makes again what does not outlive a boot and is missing: files of secrets. Returns their paths. */
  readonly restore?: (
    desired: DesiredPackage,
    owned: readonly OwnedObject[],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /**
   * Removes copies of replaced things that no package puts back: all of them, or the oldest of what is more than may be kept.
   * @throws FleetError PERMISSION, IO
   */
  readonly pruneCopies?: (which: 'all' | 'too many') => Promise<Pruned>;
  /** For `doctor`: is it there, may we do what we need to? Changes nothing, never throws for what it finds. */
  readonly examine?: (signal: AbortSignal) => Promise<readonly Examined[]>;
  /**
   * Runs work that changes the target while no other agent changes it. The signal given to the work also fires when
   * that can no longer be promised. @throws FleetError BUSY when another one is at work; what reaching the target throws
   */
  readonly exclusive?: <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /**
   * Until the signal: tells the keys of owned objects that somebody changed or deleted, soon after it happened and
   * several at once. A hint to look, no proof of drift; a target out of reach is asked again and again, never an error.
   */
  readonly watch?: (
    owned: readonly OwnedObject[],
    onChange: (keys: readonly string[]) => void,
    signal: AbortSignal,
  ) => Promise<void>;
};
