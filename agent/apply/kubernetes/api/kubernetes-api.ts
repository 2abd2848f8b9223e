/**
 * The requests that this target makes to a cluster's API server. Every function retries transient failures (429, a restarting server)
 * within its retry budget. It throws FleetError API_UNREACHABLE after that, API_DENIED if the account is unknown or lacks a right,
 * API_REFUSED if the server refuses, ADMISSION_DENIED if a policy, a webhook or an admission plugin does, CLUSTER_LACKS if a namespace, a
 * kind or the room of a quota is missing, ABORTED when the signal fires.
 */

/** A live object. Only metadata is typed; code for a specific kind reads the other fields. */
export type LiveObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
};

export type ObjectMeta = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
};

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
};

export type ManagedFields = {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly apiVersion?: string;
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
};

/** 'apps/v1', 'Deployment'. */
export type TypeRef = { readonly apiVersion: string; readonly kind: string };

export type ObjectRef = TypeRef & {
  /** undefined for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
  readonly name: string;
};

/** A kind as discovery describes it. */
export type ResourceType = {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** True if `status` is written apart from the object. Without the subresource it is a field as any other. */
  readonly hasStatusSubresource: boolean;
};

export type ListOptions = {
  /** undefined: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only metadata is read (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /** Applied to each page of a list: only what it returns is kept in memory, however many objects of others a namespace has. */
  readonly keep?: (object: LiveObject) => LiveObject | undefined;
};

export type ObjectList = { readonly items: readonly LiveObject[]; readonly resourceVersion: string };

export type WatchOptions = ListOptions & {
  /** Start after this resourceVersion of a list. */
  readonly resourceVersion: string;
};

/** `expired`: the resourceVersion is too old (410), so the objects must be listed again. The stream ends after it. */
export type WatchEvent =
  | { readonly type: 'added' | 'modified' | 'deleted' | 'bookmark'; readonly object: LiveObject }
  | { readonly type: 'expired' };

export type ApplyOptions = {
  /** Dry run: the server processes the request without writing. */
  readonly dryRun?: boolean;
  /** Takes over fields of other appliers; without it they cause FIELD_CONFLICT. */
  readonly force: boolean;
  /** True for an object of any kind that holds secrets: the server's messages may quote them. */
  readonly secret?: boolean;
};

export type DeleteOptions = {
  /** Deletes only the object with this uid, not a newer one of the same name. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation: 'Foreground' | 'Background' | 'Orphan';
};

export type KubernetesApi = {
  /** 'https://10.0.0.1:6443', for messages. */
  readonly server: string;
  /** '1.35.4'. */
  readonly version: (signal: AbortSignal) => Promise<string>;
  /** Repeats discovery if the kind is unknown; undefined if the server does not have it. */
  readonly typeOf: (type: TypeRef, signal: AbortSignal) => Promise<ResourceType | undefined>;
  /** All kinds of the server as of the last discovery. */
  readonly types: (signal: AbortSignal) => Promise<readonly ResourceType[]>;
  /** Discards cached discovery, after a CRD was applied. */
  readonly forgetTypes: () => void;
  /** undefined if the object or its kind does not exist. */
  readonly read: (ref: ObjectRef, signal: AbortSignal) => Promise<LiveObject | undefined>;
  /** Returns all pages; for an unknown kind an empty list with resourceVersion '0'. */
  readonly list: (type: TypeRef, options: ListOptions, signal: AbortSignal) => Promise<ObjectList>;
  /** Server-side apply under our field manager. `created` is false for a dry run on an existing object. */
  readonly apply: (
    object: LiveObject,
    options: ApplyOptions,
    signal: AbortSignal,
  ) => Promise<{ readonly object: LiveObject; readonly created: boolean }>;
  /** POST; FIELD_CONFLICT if the object exists. */
  readonly create: (
    object: LiveObject,
    signal: AbortSignal,
    options?: Partial<Pick<ApplyOptions, 'dryRun' | 'secret'>>,
  ) => Promise<LiveObject>;
  /** PUT; FIELD_CONFLICT if metadata.resourceVersion is set and not current. */
  readonly replace: (object: LiveObject, signal: AbortSignal) => Promise<LiveObject>;
  /** JSON patch (RFC 6902); undefined if the object does not exist; FIELD_CONFLICT if a `test` fails. */
  readonly patch: (
    ref: ObjectRef,
    operations: readonly JsonPatch[],
    signal: AbortSignal,
    options?: { readonly dryRun?: boolean; readonly subresource?: 'status' },
  ) => Promise<LiveObject | undefined>;
  /** 'gone': the object did not exist; 'deleting': a finalizer holds it; 'other': uid or resourceVersion differ. */
  readonly remove: (
    ref: ObjectRef,
    options: DeleteOptions,
    signal: AbortSignal,
  ) => Promise<'gone' | 'deleted' | 'deleting' | 'other'>;
  /**
   * Runs one watch without reconnecting. Throws API_UNREACHABLE if the connection breaks; ends without an error when the server closes
   * the watch or the signal fires.
   */
  readonly watch: (type: TypeRef, options: WatchOptions, signal: AbortSignal) => AsyncIterable<WatchEvent>;
  /**
   * The same cluster as another user sees it (impersonation); connections and discovery are shared.
   * @param user 'system:serviceaccount:fleet-workspaces:shop'
   */
  readonly as: (user: string) => KubernetesApi;
  /** Closes idle connections. */
  readonly close: () => Promise<void>;
};

export type JsonPatch =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };
