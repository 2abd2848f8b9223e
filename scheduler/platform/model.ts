import type { FleetError, Place } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/signatures/image-policy';
import type { ContentLocks } from '../content/content-locks.ts';
import type { Attachment } from '../images/attachment.ts';
import type { ImageFields } from '../images/image-fields.ts';
import type { Mould } from '../render/remember-renders.ts';
import type { TemplateContext, TemplateValue } from '../render/template-context.ts';
import type { Declarations } from './declarations.ts';
import type { Limits } from './limits.ts';
import type { Bounds } from './objects/bounds.ts';
import type { Location } from './sources/location.ts';
import type { RepositoryAddress } from './sources/repository-address.ts';

/**
 * The platform as the scheduler understands it, whichever form it was written in: Kalypso's objects
 * (scheduler.kalypso.io/v1alpha1, environments as branches) or ours (fleet-ferry/v1alpha1, environments as directories).
 * Plain data; everything in it stands in one snapshot of every repository.
 */

export type Labels = Readonly<Record<string, string>>;

/** A value out of YAML: what templates, schemas and merges work on. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/**
 * A configuration value as templates see it: a Value, or what Kalypso's YAML 1.1 has beyond it and prints in its own way
 * (integers beyond 2^53, `5.0`, keys that are no strings).
 */
export type ConfigValue = TemplateValue;

/** Which form a platform is written in. Decides merge order, typing of values and the default template engine. */
export type PlatformForm = 'kalypso' | 'fleet';

/** One repository or directory at one fixed state. `tree` is the digest of the files read, `commit` absent for directories. */
export type SourceSnapshot = {
  /** 'platform', 'base/main', 'workload/greeting' ... */
  readonly role: string;
  readonly repo: string;
  readonly ref?: string;
  readonly path: string;
  readonly commit?: string;
  readonly tree: string;
  /** Where its files lie on this machine. Never part of an output. */
  readonly directory: string;
};

export type TemplateType = 'reconciler' | 'namespace' | 'config';

export type Template = {
  readonly name: string;
  readonly type: TemplateType;
  readonly engine: 'go' | 'handlebars';
  /** 'yaml', 'sh', 'env', ... decides the file extension and what the text is. Kalypso's is free text. */
  readonly contentType: string | undefined;
  readonly manifests: readonly { readonly text: string; readonly at: Place; readonly indent: number }[];
  readonly at: Place;
};

/** What a cluster type's packages are applied to by our agent. Kalypso's cluster types are 'kubernetes'. */
export type Target = 'kubernetes' | 'host';

export type ClusterType = {
  readonly name: string;
  readonly labels: Labels;
  readonly reconciler: string;
  readonly namespaceService: string;
  readonly configType: string;
  readonly target: Target;
  /** OCI platforms, like linux/amd64. */
  readonly platforms: readonly string[];
  /** Sites of this type live without a network: images must be pinned and never pulled at start. */
  readonly offline: boolean;
  readonly requirements: {
    readonly diskBytes?: number;
    readonly kubernetes?: string;
    readonly agent?: string;
  };
  readonly at: Place;
  /** Where its fields that name a Template stand. */
  readonly places?: { readonly [field in 'reconciler' | 'namespaceService' | 'configType']?: Place };
};

export type DeploymentTarget = {
  /** '<workload>-<target>', as Kalypso names it; the assignment id within a cluster type. */
  readonly name: string;
  readonly shortName: string;
  readonly workload: string;
  readonly workspace: string;
  readonly environment: string;
  readonly labels: Labels;
  readonly manifests: { readonly [key: string]: Value };
  readonly configSchemas: readonly string[];
  /** Its schemas are Kalypso's: see ConfigSchema. */
  readonly coerces?: boolean;
  /** Names of deployment targets that must be healthy first on the same cluster or host. */
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  /** The WorkloadRegistration it came by; absent for a Workload that stands in the platform itself. */
  readonly registration?: string;
  /** What its registration allows its manifests to write outside of its own namespace. */
  readonly bounds?: Bounds;
  /** What its workspace is granted; absent where it has no Workspace object. Only with a registration. */
  readonly grants?: HostGrants;
  readonly at: Place;
  /** Where the values of its own labels stand. */
  readonly labelPlaces?: Readonly<Record<string, Place>>;
};

/** An application whose own repository cannot be read or is wrong: its targets are unknown, nobody else is blocked. */
export type HeldWorkload = {
  readonly registration: string;
  readonly workspace: string;
  readonly at: Place;
  readonly errors: readonly FleetError[];
};

/** One label-selected piece of configuration. `order` is ascending precedence: later wins. */
export type ConfigLayer = {
  readonly name: string;
  readonly selector: Labels;
  readonly values: { readonly [key: string]: ConfigValue };
  /** Where each top-level key stands; in our form also each key of the mappings in it (`placeKey` of its path). */
  readonly places: { readonly [key: string]: Place };
  readonly from: 'base' | 'environment';
  readonly at: Place;
};

export type ConfigSchema = {
  readonly name: string;
  readonly selector: Labels;
  readonly schema: Value;
  /** Kalypso's schemas judge text that looks like a number as that number (behaviour.md 2.5). */
  readonly coerces?: boolean;
  /** Why its text is no schema: what it selects is held, nobody else (behaviour.md 2.5). */
  readonly fault?: string;
  readonly at: Place;
};

export type LabelSelector = {
  readonly matchLabels: Labels;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values: readonly string[];
  }[];
};

export type SchedulingPolicy = {
  readonly name: string;
  readonly workspace: string;
  readonly targets: LabelSelector;
  readonly clusterTypes: LabelSelector;
  readonly at: Place;
};

/** What packages of a workspace may name on a host, and which secret sets, beyond their own (docs/workspaces.md). */
export type HostGrants = {
  /** Absolute paths; what is below them counts too. */
  readonly paths: readonly string[];
  /** Unit names; `*` stands for any characters. */
  readonly units: readonly string[];
  /** Users and groups. */
  readonly users: readonly string[];
  /** Names of secret sets; `*` stands for any characters. */
  readonly secretSets: readonly string[];
};

/** What the platform grants the registered applications of one workspace. */
export type Workspace = {
  readonly name: string;
  readonly host: HostGrants;
  /** Repositories, or owners of them, that its applications' manifests may name; undefined: those of their own repository's owner. */
  readonly repositories?: readonly RepositoryAddress[] | undefined;
  /** Instead of the defaults, those that are given. */
  readonly limits?: Partial<Limits> | undefined;
  readonly at: Place;
};

/** Where a WorkloadRegistration's repository is read from. */
export type RegisteredRepository = {
  readonly location: Location;
  readonly path: string;
  /** As the registration writes it. */
  readonly repo?: string;
  readonly workspace?: string;
};

/** One environment of the platform, loaded: everything that scheduling and rendering it needs. */
export type Platform = {
  readonly form: PlatformForm;
  /** Fleet name; for Kalypso repositories it comes from the command line or configuration. */
  readonly fleet: string;
  readonly environment: string;
  /** The promotion chain, first environment first; only [environment] where the form does not say. */
  readonly chain: readonly string[];
  /** Kalypso's BaseRepo "main" commit, which `render` writes as the tracking file. */
  readonly promotedCommit: string | undefined;
  readonly templates: ReadonlyMap<string, Template>;
  readonly clusterTypes: readonly ClusterType[];
  readonly targets: readonly DeploymentTarget[];
  readonly policies: readonly SchedulingPolicy[];
  readonly configs: readonly ConfigLayer[];
  readonly schemas: readonly ConfigSchema[];
  readonly sources: readonly SourceSnapshot[];
  /** Image name as manifests write it to 'name@sha256:...'. */
  readonly imageLocks: ReadonlyMap<string, string>;
  /** What the addresses that hosts' packages fetch from are locked to; absent for none. */
  readonly contentLocks?: ContentLocks;
  /** By name; absent where the platform has no Workspace object, and every workspace has the defaults. */
  readonly workspaces?: readonly Workspace[];
  /** Signatures that images must carry, by name; absent for none. */
  readonly imagePolicies?: readonly ImagePolicy[];
  /** A locked manifest's digest to that of the index it was chosen from. Only with policies. */
  readonly imageIndexes?: ReadonlyMap<string, string>;
  /** By an image's digest: what lies beside it and travels with it; absent where nothing does. */
  readonly imageAttachments?: ReadonlyMap<string, readonly Attachment[]>;
  /** Where images stand that no pod template names, beyond what is known; absent where nobody says anything. */
  readonly imageFields?: readonly ImageFields[];
  /** Where each WorkloadRegistration's repository begins: what its targets' manifest paths are relative to. */
  readonly repositories: ReadonlyMap<string, RegisteredRepository>;
  /** Only with `holdWorkloads`; without it a broken workload fails the load. Their packages must not be pruned. */
  readonly heldWorkloads?: readonly HeldWorkload[];
  /** Kalypso's GitOpsRepo of the environment: where its rendered tree is proposed. */
  readonly gitOps?: { readonly repo: string; readonly branch: string; readonly path: string };
  /** Files that may define kinds (CustomResourceDefinition), by which objects are judged. */
  readonly definitions?: readonly { readonly shown: string; readonly bytes: Buffer }[];
  /** Where what assignments depend on is declared; absent in a platform that was not read from files. */
  readonly declarations?: Declarations;
  /** What is odd but not wrong: worth telling, blocks nothing. */
  readonly advice?: readonly FleetError[];
};

/** One deployment target on one cluster type. */
export type Assignment = {
  readonly clusterType: ClusterType;
  readonly target: DeploymentTarget;
  readonly policy: string;
};

export type RenderedFile = {
  readonly path: string;
  readonly bytes: Buffer;
  /** What `bytes` are made of, where that is known: files of one mould differ only in what fills its holes. */
  readonly from?: { readonly mould: Mould; readonly context: TemplateContext };
};

/** An assignment's files, relative to its folder, bytes final. What bundles are made of. */
export type RenderedPackage = {
  readonly assignment: Assignment;
  /** namespace.yaml, platform-config.<ext>, reconciler.yaml: Kalypso's layout. Order is bytewise by path. */
  readonly files: readonly RenderedFile[];
  /** Target namespace on Kubernetes. */
  readonly namespace: string;
  readonly configData: { readonly [key: string]: Value };
};

/** An assignment that could not be rendered: it blocks nobody else. */
export type HeldAssignment = { readonly assignment: Assignment; readonly error: FleetError };
