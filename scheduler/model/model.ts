import type { ApplyRules, ObjectRule } from '#bundles/formats/bundle/config';
import type { FleetError, Place } from '#bundles/errors';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import type { Declared } from '#bundles/formats/candidate';
import type { Bounds } from './bounds.ts';
import type { ContentLocks } from './content-locks.ts';
import type { DebianBase } from './debian-base.ts';
import type { Attachment } from './images/attachment.ts';
import type { ImageFields } from './images/image-fields.ts';
import type { Limits } from './limits.ts';
import type { Location } from './location.ts';
import type { KubernetesInput } from './site-input.ts';
import type { RepositoryAddress } from './repository-address.ts';
import type { TemplateValue } from './template-context.ts';
import type { Value } from './value.ts';

/**
 * The platform as plain data, whichever form it was written in: Kalypso's objects (scheduler.kalypso.io/v1alpha1,
 * environments as branches) or ours (fleet-ferry/v1alpha1, environments as directories). Everything in it comes from one
 * snapshot of every repository.
 */

export type Labels = Readonly<Record<string, string>>;

export type { Value } from './value.ts';

/**
 * A configuration value as templates see it: a Value, or one of those that Kalypso's YAML 1.1 adds and prints in its own way
 * (integers beyond 2^53, `5.0`, keys that are not strings).
 */
export type ConfigValue = TemplateValue;

/** The form a platform is written in. It decides merge order, typing of values and the default template engine. */
export type PlatformForm = 'kalypso' | 'fleet';

/** One repository or directory in one fixed state. `tree` is the digest of the files read; directories have no `commit`. */
export type SourceSnapshot = {
  /** 'platform', 'base/main', 'workload/greeting' ... */
  readonly role: string;
  readonly repo: string;
  readonly ref?: string;
  readonly path: string;
  readonly commit?: string;
  readonly tree: string;
  /** By a DeploymentDescriptor among its files. */
  readonly described?: { readonly version: string; readonly commit?: string };
  /** Where its files are on this machine. Never part of an output. */
  readonly directory: string;
};

export type TemplateType = 'reconciler' | 'namespace' | 'config';

export type Template = {
  readonly name: string;
  readonly type: TemplateType;
  readonly engine: 'go' | 'handlebars';
  /** 'yaml', 'sh', 'env', ...: decides the file extension and how the text is read. Free text in Kalypso's form. */
  readonly contentType: string | undefined;
  readonly manifests: readonly { readonly text: string; readonly at: Place; readonly indent: number }[];
  /** Versions of its reconciler that take what it renders: a semver range. */
  readonly versions?: string | undefined;
  readonly at: Place;
};

/** Kind of target that our agent applies packages of a cluster type to. Kalypso's cluster types are 'kubernetes'. */
export type Target = 'kubernetes' | 'host';

export type Adopt = NonNullable<ApplyRules['adopt']>;

/** An object rule with the places of its expressions. */
export type PlacedObjectRule = {
  readonly [Key in keyof Omit<ObjectRule, 'health'>]: ObjectRule[Key] | undefined;
} & {
  readonly kinds: readonly string[];
  readonly health?:
    | { readonly [Key in keyof Required<NonNullable<ObjectRule['health']>>]: PlacedText | undefined }
    | undefined;
};

type PlacedText = { readonly value: string; readonly at: Place };

export type ClusterType = {
  readonly name: string;
  readonly labels: Labels;
  readonly reconciler: string;
  /** Version of the program behind `reconciler` on its clusters: '3.1.9', or '3.1' for any release of it. */
  readonly reconcilerVersion?: string | undefined;
  readonly namespaceService: string;
  readonly configType: string;
  readonly target: Target;
  /** OCI platforms, like linux/amd64. */
  readonly platforms: readonly string[];
  /** Name of the DebianBase of its hosts. */
  readonly debianBase?: string | undefined;
  /** Sites of this type have no network: images must be pinned and are never pulled at start. */
  readonly offline: boolean;
  readonly requirements: {
    readonly diskBytes?: number;
    readonly kubernetes?: string;
    readonly agent?: string;
  };
  /** Which existing objects its packages may take over; absent: as each agent is configured. */
  readonly adopt?: Adopt | undefined;
  /** Rules for objects on its clusters. */
  readonly objectRules?: readonly PlacedObjectRule[] | undefined;
  /** Lets agents reboot their hosts. */
  readonly reboot?: { readonly windows: readonly string[] } | undefined;
  readonly at: Place;
  /** Places of the fields that name a Template, of the version of one, and of the rules. */
  readonly places?: {
    readonly [field in
      | 'reconciler'
      | 'reconcilerVersion'
      | 'namespaceService'
      | 'configType'
      | 'objectRules']?: Place;
  };
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
  /** Its schemas are Kalypso's and coerce text to numbers: see ConfigSchema. */
  readonly coerces?: boolean;
  /** Names of deployment targets that must be healthy first on the same cluster or host. */
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  /** Its namespace on Kubernetes instead of one of its own for each assignment. */
  readonly namespace?: string;
  /** Its WorkloadRegistration; absent for a Workload that is part of the platform. */
  readonly registration?: string;
  /** Objects that its registration allows outside of its own namespace. */
  readonly bounds?: Bounds;
  /** Grants of its workspace; absent without a Workspace object. Only with a registration. */
  readonly grants?: HostGrants;
  /** The grant of its Workspace. */
  readonly adopt?: Adopt;
  /** Seconds that its package may take on a host. Only with a registration. */
  readonly packageSeconds?: number;
  /** Patterns of the site values that it may read; absent without Workspace objects. Only with a registration. */
  readonly siteValues?: readonly string[];
  /** Values of the site that go into its Kubernetes objects; absent without any. */
  readonly siteInputs?: readonly KubernetesInput[];
  /** All values of the site that it may read complete its platform configuration. */
  readonly siteConfig?: boolean;
  readonly at: Place;
  /** Places of the values of its own labels. */
  readonly labelPlaces?: Readonly<Record<string, Place>>;
};

/**
 * An application whose repository cannot be read or is invalid. Its targets are unknown; other applications are not blocked.
 */
export type HeldWorkload = {
  readonly registration: string;
  readonly workspace: string;
  readonly at: Place;
  readonly errors: readonly FleetError[];
};

/** One label-selected piece of configuration. In `Platform.configs` later layers override earlier ones. */
export type ConfigLayer = {
  readonly name: string;
  readonly selector: Labels;
  readonly values: { readonly [key: string]: ConfigValue };
  /** The place of each top-level key; in our form also of each key in nested mappings (`placeKey` of its path). */
  readonly places: { readonly [key: string]: Place };
  readonly from: 'base' | 'environment';
  readonly at: Place;
};

/**
 * A layer that selects by labels of sites and agents, too. It is in no bundle: the hub composes it into the values of the sites that it
 * selects. In `Platform.siteLayers` those with fewer labels come first.
 */
export type SiteLayer = ConfigLayer & {
  /** `site` and `agent` select by name; without a label it selects every site. */
  readonly siteSelector: Labels;
  /** It also overrides values that people set at the hub. */
  readonly fixed: boolean;
  /** Path of its file in its repository; `config/<registration>:<path>` in that of a team. */
  readonly path: string;
};

/** A site as the repository declares it. Only enrolment knows keys. */
export type DeclaredSite = {
  readonly name: string;
  /** As of a layer. */
  readonly path: string;
  /** Labels of all its agents, for layers; an agent's own label overrides one with the same key. */
  readonly labels: Labels;
  readonly agents: readonly {
    readonly name: string;
    /** 'environment/cluster type'; undefined: not declared. */
    readonly channel: string | undefined;
    readonly labels: Labels;
    readonly at: Place;
  }[];
  readonly at: Place;
};

/** Layers of a team that cannot be read: the sites that its registration selects keep the values they have. */
export type UnreadLayers = {
  readonly registration: string;
  readonly siteSelector: Labels;
  readonly at: Place;
  readonly errors: readonly FleetError[];
};

export type ConfigSchema = {
  readonly name: string;
  readonly selector: Labels;
  readonly schema: Value;
  /** Kalypso's schemas validate text that looks like a number as that number (behaviour.md 2.5). */
  readonly coerces?: boolean;
  /** Why its text is not a schema. Only the assignments that it selects are held (behaviour.md 2.5). */
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

/** Host names and secret sets that packages of a workspace may use besides their own (docs/workspaces.md). */
export type HostGrants = {
  /** Absolute paths, including everything below them. */
  readonly paths: readonly string[];
  /** Unit names; `*` matches any characters. */
  readonly units: readonly string[];
  /** Users and groups. */
  readonly users: readonly string[];
  /** Names of secret sets; `*` matches any characters. */
  readonly secretSets: readonly string[];
};

/** Grants of the platform for the registered applications of one workspace. */
export type Workspace = {
  readonly name: string;
  readonly host: HostGrants;
  /** Names of site values that its packages may read; `*` matches any characters. */
  readonly siteValues: readonly string[];
  /** Which existing objects of a cluster its packages may take over; absent: as the cluster type says. */
  readonly adopt?: Adopt | undefined;
  /** Whether its deployment targets may be critical. */
  readonly critical: boolean;
  /**
   * Repositories, or their owners, that its applications' manifests may name; undefined: repositories of the owner of the
   * application's repository.
   */
  readonly repositories?: readonly RepositoryAddress[] | undefined;
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits> | undefined;
  readonly at: Place;
};

/** Where a WorkloadRegistration's repository is read from. */
export type RegisteredRepository = {
  readonly location: Location;
  readonly path: string;
  /** As written in the registration. */
  readonly repo?: string;
  readonly workspace?: string;
};

/** The registration that the platform gave the name of a workload. */
export type NameOwner = { readonly registration: string; readonly workspace: string };

/** One loaded environment of the platform: everything needed to schedule and render it. */
export type Platform = {
  readonly form: PlatformForm;
  /** Fleet name; for Kalypso repositories it comes from the command line or configuration. */
  readonly fleet: string;
  readonly environment: string;
  /** The promotion chain, first environment first; only [environment] if the form does not define one. */
  readonly chain: readonly string[];
  /** Commit of Kalypso's BaseRepo "main", which `render` writes to the tracking file. */
  readonly promotedCommit: string | undefined;
  readonly templates: ReadonlyMap<string, Template>;
  readonly clusterTypes: readonly ClusterType[];
  readonly targets: readonly DeploymentTarget[];
  readonly policies: readonly SchedulingPolicy[];
  readonly configs: readonly ConfigLayer[];
  readonly schemas: readonly ConfigSchema[];
  /** Absent without any. */
  readonly siteLayers?: readonly SiteLayer[];
  /** Absent without any. Sorted by name; of a site that is declared twice only the first. */
  readonly declaredSites?: readonly DeclaredSite[];
  /** Absent without any. */
  readonly unreadLayers?: readonly UnreadLayers[];
  readonly sources: readonly SourceSnapshot[];
  /** Image name as written in manifests -> 'name@sha256:...'. */
  readonly imageLocks: ReadonlyMap<string, string>;
  /** Lock entries of the addresses that host packages fetch from; absent without any. */
  readonly contentLocks?: ContentLocks;
  /** Absent when the platform has no DebianBase object. */
  readonly debianBases?: readonly DebianBase[];
  /** Absent when the platform has no Workspace object: then every workspace has the defaults. */
  readonly workspaces?: readonly Workspace[];
  /** Signatures that images must carry, by image name; absent without any. */
  readonly imagePolicies?: readonly ImagePolicy[];
  /** Digest of a locked manifest -> digest of the index it was selected from. Only with policies. */
  readonly imageIndexes?: ReadonlyMap<string, string>;
  /** Major version ('v3') by the program that renders, from the lock file. Absent if it names none. */
  readonly renderers?: ReadonlyMap<string, string>;
  /** Attachments by image digest; absent without any. */
  readonly imageAttachments?: ReadonlyMap<string, readonly Attachment[]>;
  /** Image fields outside of pod templates, in addition to the built-in ones; absent without any. */
  readonly imageFields?: readonly ImageFields[];
  /** The repository of each WorkloadRegistration; its targets' manifest paths are relative to it. */
  readonly repositories: ReadonlyMap<string, RegisteredRepository>;
  /** By the name of a workload: the registration whose annotation lists it, else the registration of that name. */
  readonly workloadOwners?: ReadonlyMap<string, NameOwner>;
  /**
   * Only with `holdWorkloads`; without it a broken workload fails the load. Packages of held workloads must not be pruned.
   */
  readonly heldWorkloads?: readonly HeldWorkload[];
  /** Kalypso's GitOpsRepo of the environment: the branch to which its rendered tree is proposed. */
  readonly gitOps?: { readonly repo: string; readonly branch: string; readonly path: string };
  /** Files that may hold CustomResourceDefinitions, used to validate objects. */
  readonly definitions?: readonly { readonly shown: string; readonly bytes: Buffer }[];
  /** Which files declare what; absent in a platform that was not read from files. */
  readonly declarations?: Declarations;
  /** Warnings: reported, but they block nothing. */
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
  readonly text: string;
};

/** The files of one assignment, with paths relative to its folder and final bytes. Bundles are made of them. */
export type RenderedPackage = {
  readonly assignment: Assignment;
  /** namespace.yaml, platform-config.<ext>, reconciler.yaml, in Kalypso's layout. Ordered bytewise by path. */
  readonly files: readonly RenderedFile[];
  /** An earlier run found no definition of a kind in the files. */
  readonly definesNothing?: true;
  /** Target namespace on Kubernetes. */
  readonly namespace: string;
  readonly configData: { readonly [key: string]: Value };
};

/** An assignment that could not be rendered. Others are not blocked. */
export type HeldAssignment = { readonly assignment: Assignment; readonly error: FleetError };

/**
 * Which file or application folder declares what an assignment depends on. A build compares this with the declarations in
 * the last release's candidate, to distinguish a deleted object from one that was emptied or misspelled.
 */
export type Declarations = {
  /** As recorded in the candidate, sorted. */
  readonly declared: readonly Declared[];
  /** Every file and application folder that was read; 'empty' if it declares no object, or no target. */
  readonly places: ReadonlyMap<string, 'filled' | 'empty'>;
};
