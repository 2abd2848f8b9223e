import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Application } from '../../load/applications/application.ts';
import type { ContentAccess } from '../content/content-access.ts';
import type { ClusterType, HeldAssignment, Platform, RenderedPackage } from '../../model/model.ts';
import type { LastGood } from './last-good-packages.ts';
import type { ManifestCache, ManifestJudge } from './prepared-manifest.ts';
import type { ResolveImages } from '../images/resolve-once.ts';

/** Holds an assignment, or a package of the last release that is not assigned any more, for a reason outside of its content. */
export type Hold = {
  readonly error: FleetError;
  /** Where its package comes from; undefined: as for any held assignment. */
  readonly lastGood?: LastGood | undefined;
  readonly declaredIn?: Digest | undefined;
};

/** An assignment that a person took back to the package of an earlier release. */
export type RolledBack = {
  readonly lastGood: LastGood;
  /** The rollback applies only while the assignment is built as this package; undefined: to every package. */
  readonly instead: Digest | undefined;
  /** ROLLED_BACK */
  readonly error: FleetError;
};

export type BundleInput = {
  readonly platform: Platform;
  readonly clusterType: ClusterType;
  readonly packages: readonly RenderedPackage[];
  /** Digest of all that the packages are rendered from, with those that rendering held; undefined: not known. */
  readonly pairs?: Digest | undefined;
  readonly held: readonly HeldAssignment[];
  /**
   * Files of the application of a package; undefined if another reconciler fetches them. Throws the error that holds the
   * assignment.
   */
  readonly applicationOf: (rendered: RenderedPackage) => Application | undefined;
  /** Package of an assignment in the previous release, used while the assignment is held. */
  readonly lastGood: LastGood;
  /** The registration of a package of the previous release. Default: unknown. */
  readonly registrationOf?: (id: string) => Promise<string | undefined>;
  /** Workspaces by the site value that their packages read, in the last releases of all cluster types. */
  readonly readers?: LastGood['readers'];
  /** By the name of the assignment. */
  readonly rolledBack: ReadonlyMap<string, RolledBack>;
  /** By the name of the package. Default: none. */
  readonly holds?: ReadonlyMap<string, Hold>;
  /** Finds images, with a cache for all cluster types of an environment; undefined: nothing is released, so that images need not exist. */
  readonly resolve: ResolveImages | undefined;
  /** Source of downloaded files for host packages. */
  readonly contents: ContentAccess;
  /** Shared by all cluster types of an environment. */
  readonly manifests: ManifestCache;
  /** Judges objects as clusters of this type would. */
  readonly judge?: ManifestJudge | undefined;
};
