import type { Place } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/signatures/image-policy';
import type { ContentLocks } from '../../content/content-locks.ts';
import type { Attachment, Take } from '../../images/attachment.ts';
import type { ImageFields } from '../../images/image-fields.ts';
import type {
  ClusterType,
  ConfigSchema,
  DeploymentTarget,
  Labels,
  SchedulingPolicy,
  Template,
  Value,
  Workspace,
} from '../model.ts';
import type { Revision } from '../sources/location.ts';
import type { Bounds } from './bounds.ts';
import type { TextPlace } from './text-places.ts';

/** A folder of a repository. */
export type RepositoryFolder = { readonly repo: string; readonly revision: Revision; readonly path: string };

/** A Config of ours or a ConfigMap for the platform, before it is known where it comes in the order. */
export type ConfigObject = {
  readonly selector: Labels;
  readonly values: { readonly [key: string]: Value };
  readonly places: { readonly [key: string]: Place };
};

export type WorkloadTarget = {
  readonly name: string;
  readonly labels: Labels;
  readonly environment: string;
  readonly manifests: { readonly [key: string]: Value };
  readonly configSchemas: readonly string[];
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  readonly at: Place;
  /** Where its environment stands. */
  readonly environmentAt?: Place;
  /** Where the value of each of its labels stands. */
  readonly labelPlaces?: Readonly<Record<string, Place>>;
};

type Spec =
  | { readonly kind: 'Fleet'; readonly environments: readonly string[] }
  | {
      readonly kind: 'ImagesLock';
      readonly images: ReadonlyMap<string, string>;
      /** A manifest's digest to that of the index it was chosen from: what was signed is mostly the index. */
      readonly indexes: ReadonlyMap<string, string>;
      /** Addresses of files that hosts' packages name. */
      readonly files: ContentLocks;
      /** By the image's digest. */
      readonly attachments: ReadonlyMap<string, readonly Attachment[]>;
      readonly take: Take;
    }
  | { readonly kind: 'ImagePolicy'; readonly imagePolicy: ImagePolicy }
  | { readonly kind: 'ImageFields'; readonly imageFields: ImageFields }
  | { readonly kind: 'Environment'; readonly controlPlane: RepositoryFolder }
  | { readonly kind: 'BaseRepo'; readonly folder: RepositoryFolder; readonly commit: string | undefined }
  | { readonly kind: 'GitOpsRepo'; readonly folder: RepositoryFolder }
  | { readonly kind: 'ClusterType'; readonly clusterType: ClusterType }
  | { readonly kind: 'Template'; readonly template: Template }
  | { readonly kind: 'Config'; readonly config: ConfigObject }
  /** `data` as written: what it means depends on the platform's form. */
  | { readonly kind: 'ConfigMap'; readonly labels: Labels; readonly data: ConfigMapData }
  | { readonly kind: 'ConfigSchema'; readonly schema: ConfigSchema }
  | {
      readonly kind: 'WorkloadRegistration';
      readonly workload: RepositoryFolder;
      readonly workspace: string;
      readonly bounds: Bounds | undefined;
      /** Where `workload` stands. */
      readonly repositoryAt?: Place;
    }
  | { readonly kind: 'Workspace'; readonly workspace: Workspace }
  | {
      readonly kind: 'Workload';
      readonly labels: Labels;
      readonly targets: readonly WorkloadTarget[];
      readonly configSchemas: readonly string[];
      readonly coerces?: boolean;
    }
  /** One that stands for itself, not in a Workload. */
  | { readonly kind: 'DeploymentTarget'; readonly target: DeploymentTarget }
  | { readonly kind: 'SchedulingPolicy'; readonly policy: SchedulingPolicy };

export type ConfigMapData = Readonly<
  Record<
    string,
    {
      readonly value: string;
      readonly at: Place;
      /** Where the keys stand that a value of several lines has. */
      readonly inside?: readonly TextPlace[];
    }
  >
>;

/** One object out of a platform's YAML, read and checked against its kind, whichever group it is of. */
export type PlatformObject = Spec & { readonly name: string; readonly at: Place };

export type Kind = PlatformObject['kind'];
export type ObjectOf<K extends Kind> = Extract<PlatformObject, { kind: K }>;

export const ofKind = <K extends Kind>(objects: readonly PlatformObject[], kind: K): readonly ObjectOf<K>[] =>
  objects.filter((object): object is ObjectOf<K> => object.kind === kind);
