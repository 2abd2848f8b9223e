/**
 * What this target asks of a cluster's API server, narrow and typed. Every function retries transient failures (429,
 * a server that restarts) within the api's patience and throws FleetError API_UNREACHABLE after it, API_DENIED for 401 and
 * 403, API_REFUSED for what the server or an admission webhook refuses, ABORTED for the signal.
 */

/** An object as the server has it. Only metadata is typed; everything else is looked at by who knows the kind. */
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

/** What discovery says of a kind. */
export type ResourceType = {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
};

export type ListOptions = {
  /** undefined: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only metadata is read (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
};

export type ObjectList = { readonly items: readonly LiveObject[]; readonly resourceVersion: string };

export type WatchOptions = ListOptions & {
  /** From a list's resourceVersion on. */
  readonly resourceVersion: string;
};

/** `expired`: the resourceVersion is too old to go on from (410): list again. The stream ends after it. */
export type WatchEvent =
  | { readonly type: 'added' | 'modified' | 'deleted' | 'bookmark'; readonly object: LiveObject }
  | { readonly type: 'expired' };

export type ApplyOptions = {
  /** The server does everything but write. */
  readonly dryRun?: boolean;
  /** Takes over fields that another applier owns; else FIELD_CONFLICT. */
  readonly force: boolean;
  /** The object has secrets, whatever its kind: the server's words may quote them. */
  readonly secret?: boolean;
};

export type DeleteOptions = {
  /** Only this very object, not one of the same name that came after it. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation: 'Foreground' | 'Background' | 'Orphan';
};

export type KubernetesApi = {
  /** 'https://10.0.0.1:6443', for messages. */
  readonly server: string;
  /** '1.35.4'. */
  readonly version: (signal: AbortSignal) => Promise<string>;
  /** Asks discovery again when the kind is unknown; undefined when the server does not have it. */
  readonly typeOf: (type: TypeRef, signal: AbortSignal) => Promise<ResourceType | undefined>;
  /** Every kind the server has, as of the last time it was asked. */
  readonly types: (signal: AbortSignal) => Promise<readonly ResourceType[]>;
  /** Forgets what discovery said: a CRD was applied. */
  readonly forgetTypes: () => void;
  /** undefined when it (or its kind) is not there. */
  readonly read: (ref: ObjectRef, signal: AbortSignal) => Promise<LiveObject | undefined>;
  /** All pages; an unknown kind is an empty list with resourceVersion '0'. */
  readonly list: (type: TypeRef, options: ListOptions, signal: AbortSignal) => Promise<ObjectList>;
  /** Server-side apply by the one field manager. `created` is never true for a dry run's object that exists. */
  readonly apply: (
    object: LiveObject,
    options: ApplyOptions,
    signal: AbortSignal,
  ) => Promise<{ readonly object: LiveObject; readonly created: boolean }>;
  /** POST; FIELD_CONFLICT when it is there already. */
  readonly create: (object: LiveObject, signal: AbortSignal) => Promise<LiveObject>;
  /** PUT; with metadata.resourceVersion set, FIELD_CONFLICT when somebody else was first. */
  readonly replace: (object: LiveObject, signal: AbortSignal) => Promise<LiveObject>;
  /** JSON patch (RFC 6902); undefined when the object is gone; FIELD_CONFLICT when a `test` fails. */
  readonly patch: (
    ref: ObjectRef,
    operations: readonly JsonPatch[],
    signal: AbortSignal,
    options?: { readonly dryRun: boolean },
  ) => Promise<LiveObject | undefined>;
  /** 'gone' when it was not there, 'deleting' when a finalizer holds it, 'other' when uid or resourceVersion differ. */
  readonly remove: (
    ref: ObjectRef,
    options: DeleteOptions,
    signal: AbortSignal,
  ) => Promise<'gone' | 'deleted' | 'deleting' | 'other'>;
  /**
   * One watch until the server or the signal ends it; never reconnects. Throws API_UNREACHABLE when the
   * connection breaks, ends without an error when the server closes it in order or the signal aborts.
   */
  readonly watch: (type: TypeRef, options: WatchOptions, signal: AbortSignal) => AsyncIterable<WatchEvent>;
  /** Closes idle connections. */
  readonly close: () => Promise<void>;
};

export type JsonPatch =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };
