import type { BundleKind, Channel } from '#bundles/names';
import { canonicalJson } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { SealedSet } from '#bundles/trust/secrets/secret-set';

export type ReleaseRef = Channel & { readonly version: number };

/** A package of a release and its place in the store. Stored as JSON. */
export type PackageRef = {
  readonly assignment: string;
  readonly package: Digest;
  readonly siteValues: Digest;
  /** Digest of the fields that take site values; the bundle's config names them, not the package. */
  readonly inputs: Digest;
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
export const identityOf = (ref: PackageRef): string =>
  canonicalJson([ref.package, ref.siteValues, ref.inputs, ...(ref.secrets ? [ref.secrets] : [])]);

export const isSamePackage = (a: PackageRef | undefined, b: PackageRef | undefined): boolean =>
  a !== undefined && b !== undefined && identityOf(a) === identityOf(b);
