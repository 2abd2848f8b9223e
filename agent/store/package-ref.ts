import type { BundleKind } from '#bundles/bundle/config';
import { canonicalJson } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';
import type { SealedSet } from '#bundles/secrets/secret-set';

export type ReleaseRef = Channel & { readonly version: number };

/** A package as a release orders it, with all that is needed to find it in the store again. Kept as JSON. */
export type PackageRef = {
  readonly assignment: string;
  readonly package: Digest;
  readonly siteValues: Digest;
  /** Digest of the fields that site values go to: they stand in the bundle's config, not in the package. */
  readonly inputs: Digest;
  /** The sealed sets that go into it, sorted by name; absent where there are none. */
  readonly secrets?: readonly SealedSet[];
  readonly kind: BundleKind;
  readonly bundle: Digest;
  readonly layer: Digest;
  /** Blobs that are files of it; absent where there are none. */
  readonly blobs?: readonly Digest[];
  readonly path: string;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly release: ReleaseRef;
};

/** What runs: equal for two packages that would look the same on the machine. */
export const identityOf = (ref: PackageRef): string =>
  canonicalJson([ref.package, ref.siteValues, ref.inputs, ...(ref.secrets ? [ref.secrets] : [])]);

export const isSame = (a: PackageRef | undefined, b: PackageRef | undefined): boolean =>
  a !== undefined && b !== undefined && identityOf(a) === identityOf(b);
