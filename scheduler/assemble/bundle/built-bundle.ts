import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Content } from '../content/content.ts';
import type { ClusterType, HeldAssignment } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { PackedBundle } from './pack-bundle.ts';
import type { PreparedObject } from './prepared-manifest.ts';
import type { ResolvedImage } from '../images/resolved-image.ts';

export type BuiltBundle = {
  readonly clusterType: ClusterType;
  readonly bundle: PackedBundle;
  readonly images: readonly ResolvedImage[];
  /** Files of its packages that are blobs of their own. */
  readonly contents: readonly ResolvedImage[];
  /** Files that were downloaded. */
  readonly fetched: readonly Content[];
  /** Assignments that could not be built: they are left out, or kept as in an earlier release. */
  readonly held: readonly HeldPackage[];
  /** The bundle that supplies the packages of held assignments. */
  readonly previous: Digest | undefined;
  /** The first object of each unknown kind. */
  readonly unknown: readonly PreparedObject[];
  /** Values that look like images but are in no image field, as advice: one for each field of a kind. */
  readonly suspects: readonly FleetError[];
  /** Secrets in plain text. */
  readonly plainSecrets: readonly PreparedObject[];
  /** By package: YAML files of its application without any object. Only packages that have some. */
  readonly emptyFiles: ReadonlyMap<string, readonly string[]>;
};

export type HeldPackage = HeldAssignment & {
  readonly kept?: AssembledPackage;
  /** The bundle that it is taken from, if a person took the assignment back to it, or it is kept from removal. */
  readonly from?: Digest;
  /** Only of one that is kept from removal: the candidate that declares its target. */
  readonly declaredIn?: Digest;
  /** Only of one whose application cannot be read: its registration. */
  readonly registration?: string;
};
