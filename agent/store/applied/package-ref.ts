import type { BundleKind, Channel } from '#bundles/names';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { SealedSet } from '#bundles/trust/secrets/secret-set';
import type { LocalValue } from '../local-values.ts';

export type ReleaseRef = Channel & { readonly version: number };

/** The values that a package takes, by name of the input, with the agent's own and defaults; and their digest as canonical JSON. */
export type TakenValues = {
  readonly digest: Digest;
  readonly values: { readonly [input: string]: Json };
  /** Names whose values no report shows; absent if there are none. */
  readonly hidden?: readonly string[];
};

/** A package of a release and its place in the store. Stored as JSON. */
export type PackageRef = {
  readonly assignment: string;
  readonly package: Digest;
  readonly siteValues: Digest;
  /** Digest of the fields that take site values; the bundle's config names them, not the package. */
  readonly inputs: Digest;
  /** Digest of the platform's rules for its objects; absent for a package without such rules. */
  readonly objectRules?: Digest;
  /** The values that the package takes from the site values document; absent in references of agents that compared the whole document. */
  readonly taken?: TakenValues;
  /** The local values that the package takes: a person at the site set each, and the agent signed it. Absent if it takes none. */
  readonly local?: readonly LocalValue[];
  /** The sealed sets that the package uses, sorted by name; absent if there are none. */
  readonly secrets?: readonly SealedSet[];
  readonly kind: BundleKind;
  readonly bundle: Digest;
  readonly layer: Digest;
  /** Blobs that are files of the package; absent if there are none. */
  readonly blobs?: readonly Digest[];
  readonly path: string;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly release: ReleaseRef;
};

/** Canonical JSON, equal for two packages that would be identical on the machine. */
export const identityOf = (ref: PackageRef): string => identityBy(ref, ref.taken?.digest ?? ref.siteValues);

const identityBy = (ref: PackageRef, values: Digest): string =>
  canonicalJson([
    ref.package,
    values,
    ref.inputs,
    ...(ref.secrets ? [ref.secrets] : []),
    ...(ref.objectRules ? [{ objectRules: ref.objectRules }] : []),
  ]);

/** A value that a package does not take makes no difference, unless one reference does not say what it takes. */
export const isSamePackage = (a: PackageRef | undefined, b: PackageRef | undefined): boolean => {
  if (a === undefined || b === undefined) return false;
  if (a.taken && b.taken) return identityOf(a) === identityOf(b);
  return identityBy(a, a.siteValues) === identityBy(b, b.siteValues);
};
