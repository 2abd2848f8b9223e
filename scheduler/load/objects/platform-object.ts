import type { FleetError, Place } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import type { ContentLocks } from '../../model/content-locks.ts';
import type { DebianBase } from '../../model/debian-base.ts';
import type { Attachment, Take } from '../../model/images/attachment.ts';
import type { ImageFields } from '../../model/images/image-fields.ts';
import type {
  ClusterType,
  ConfigSchema,
  DeclaredSite,
  DeploymentTarget,
  Labels,
  SchedulingPolicy,
  Template,
  Value,
  Workspace,
} from '../../model/model.ts';
import type { Revision } from '../../model/location.ts';
import type { Bounds } from '../../model/bounds.ts';
import type {
  EnvironmentEntry,
  FreshnessPolicy,
  PromotionPolicy,
  RolloutPolicy,
} from '../../model/promotion.ts';
import type { KubernetesInput } from '../../model/site-input.ts';
import type { TextPlace } from './text-places.ts';

/** A folder of a repository. */
export type RepositoryFolder = { readonly repo: string; readonly revision: Revision; readonly path: string };

/** A Config, or a ConfigMap with platform configuration, before it is ordered among the layers. */
export type ConfigObject = {
  readonly selector: Labels;
  readonly values: { readonly [key: string]: Value };
  readonly places: { readonly [key: string]: Place };
  /** undefined: its values are in bundles, and no site's alone. */
  readonly siteSelector?: Labels;
  readonly fixed?: boolean;
  /** On a value that arrives otherwise than it is written. */
  readonly advice?: FleetError;
};

export type WorkloadTarget = {
  readonly name: string;
  readonly labels: Labels;
  readonly environment: string;
  readonly manifests: { readonly [key: string]: Value };
  readonly configSchemas: readonly string[];
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly namespace?: string;
  /** Absent without any. */
  readonly siteInputs?: readonly KubernetesInput[];
  readonly siteConfig?: boolean;
  readonly at: Place;
  /** Place of its environment. */
  readonly environmentAt?: Place;
  /** Places of the values of its labels. */
  readonly labelPlaces?: Readonly<Record<string, Place>>;
};

/** Places of fields of the spec. */
type Places = Readonly<Record<string, Place | undefined>>;

/** The fields of each kind. */
export type Spec =
  | {
      readonly kind: 'Fleet';
      /** Names, in the order of fleet.yaml. */
      readonly environments: readonly string[];
      readonly entries: readonly EnvironmentEntry[];
      /** Places of the fields of each entry. */
      readonly entryPlaces: readonly Readonly<Record<string, Place>>[];
    }
  | { readonly kind: 'PromotionPolicy'; readonly promotionPolicy: PromotionPolicy; readonly places: Places }
  | { readonly kind: 'RolloutPolicy'; readonly rolloutPolicy: RolloutPolicy; readonly places: Places }
  | { readonly kind: 'FreshnessPolicy'; readonly freshnessPolicy: FreshnessPolicy; readonly places: Places }
  | {
      readonly kind: 'ImagesLock';
      readonly images: ReadonlyMap<string, string>;
      /** Digest of a manifest -> digest of the index it was selected from. Signatures are usually on the index. */
      readonly indexes: ReadonlyMap<string, string>;
      /** Digest of a locked image -> platforms that it was found to serve. */
      readonly platforms: ReadonlyMap<string, readonly string[]>;
      /** Locked files that host packages fetch, by address. */
      readonly files: ContentLocks['files'];
      /** Addresses of Debian packages by selection. */
      readonly debs: ContentLocks['debs'];
      /** By image digest. */
      readonly attachments: ReadonlyMap<string, readonly Attachment[]>;
      readonly take: Take;
      /** Major version ('v3') by the program that renders. */
      readonly renderers: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'DebianBase'; readonly debianBase: DebianBase }
  | { readonly kind: 'ImagePolicy'; readonly imagePolicy: ImagePolicy }
  | { readonly kind: 'ImageFields'; readonly imageFields: ImageFields }
  | { readonly kind: 'Environment'; readonly controlPlane: RepositoryFolder }
  | { readonly kind: 'BaseRepo'; readonly folder: RepositoryFolder; readonly commit: string | undefined }
  | { readonly kind: 'GitOpsRepo'; readonly folder: RepositoryFolder }
  | { readonly kind: 'ClusterType'; readonly clusterType: ClusterType }
  | { readonly kind: 'Template'; readonly template: Template }
  | { readonly kind: 'Config'; readonly config: ConfigObject }
  /** `data` as written: its meaning depends on the platform's form. */
  | { readonly kind: 'ConfigMap'; readonly labels: Labels; readonly data: ConfigMapData }
  | { readonly kind: 'ConfigSchema'; readonly schema: ConfigSchema }
  | {
      readonly kind: 'WorkloadRegistration';
      readonly workload: RepositoryFolder;
      readonly workspace: string;
      readonly bounds: Bounds | undefined;
      /** Names of its Workloads besides its own name. */
      readonly workloadNames: readonly string[];
      /** Place of `workload`. */
      readonly repositoryAt?: Place;
    }
  /** Another repository with layers of configuration for some sites. */
  | {
      readonly kind: 'ConfigRegistration';
      readonly config: RepositoryFolder;
      readonly siteSelector: Labels;
      /** Patterns of the sites that it may declare. */
      readonly sites: readonly string[];
      /** Place of `config`. */
      readonly repositoryAt?: Place;
    }
  | { readonly kind: 'Site'; readonly site: Omit<DeclaredSite, 'path'> }
  | { readonly kind: 'Workspace'; readonly workspace: Workspace }
  | {
      readonly kind: 'Workload';
      readonly labels: Labels;
      readonly targets: readonly WorkloadTarget[];
      readonly configSchemas: readonly string[];
      readonly coerces?: boolean;
    }
  /** A target without a Workload. */
  | { readonly kind: 'DeploymentTarget'; readonly target: DeploymentTarget }
  | { readonly kind: 'SchedulingPolicy'; readonly policy: SchedulingPolicy };

export type ConfigMapData = Readonly<
  Record<
    string,
    {
      readonly value: string;
      readonly at: Place;
      /** Places of the keys inside a value of several lines. */
      readonly inside?: readonly TextPlace[];
    }
  >
>;

/** One object of a platform's YAML, parsed and checked against its kind. */
export type PlatformObject = Spec & { readonly name: string; readonly at: Place };

type Kind = PlatformObject['kind'];
export type ObjectOf<K extends Kind> = Extract<PlatformObject, { kind: K }>;

export const ofKind = <K extends Kind>(objects: readonly PlatformObject[], kind: K): readonly ObjectOf<K>[] =>
  objects.filter((object): object is ObjectOf<K> => object.kind === kind);
