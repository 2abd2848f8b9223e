/** Questions to an API server that it refuses. */

export type Fields = Readonly<Record<string, unknown>>;

export type Question = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly type?: `application/${string}`;
  /** The user in whose name it is asked. */
  readonly as?: string;
};

export type RefusalCase = {
  /** Of the record, by which unit tests judge it. */
  readonly title: string;
  /** What has to be there first; each must succeed. */
  readonly given?: readonly Question[];
  /** Asked again until its answer has these words: what controllers of the cluster have to do first. */
  readonly until?: { readonly path: string; readonly words: string };
  readonly asked: Question;
  /** The server learns of the policy, webhook or limit some time after it was made: asked in dry runs until it refuses. */
  readonly later?: true;
};

type Object = Fields & {
  readonly metadata: { readonly name: string; readonly namespace?: string } & Fields;
};

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  StorageClass: 'storageclasses',
  PriorityClass: 'priorityclasses',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

/** '/api/v1/namespaces/default/configmaps/web' */
export const pathOf = (apiVersion: string, kind: string, namespace?: string, name?: string): string =>
  [
    apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    PLURALS[kind] ?? `${kind.toLowerCase()}s`,
    ...(name === undefined ? [] : [name]),
  ].join('/');

const placeOf = ({ apiVersion, kind, metadata: { namespace } }: Object, name?: string): string =>
  pathOf(String(apiVersion), String(kind), namespace, name);

/** As the agent applies it. */
export const apply = (
  object: Object,
  more: Pick<Question, 'as'> & { path?: string; force?: boolean } = {},
): Question => ({
  method: 'PATCH',
  path: `${more.path ?? placeOf(object, object.metadata.name)}?fieldManager=fleet-agent&fieldValidation=Strict&force=${more.force ?? true}`,
  body: object,
  type: 'application/apply-patch+yaml',
  ...(more.as !== undefined && { as: more.as }),
});

export const create = (object: Object): Question => ({ method: 'POST', path: placeOf(object), body: object });

export const jsonPatch = (path: string, ...operations: readonly object[]): Question => ({
  method: 'PATCH',
  path,
  body: operations,
  type: 'application/json-patch+json',
});

/** An object in the namespace `default`. */
export const made = (apiVersion: string, kind: string, name: string, fields: Fields = {}): Object =>
  inside('default', apiVersion, kind, name, fields);

export const inside = (
  namespace: string | undefined,
  ...[apiVersion, kind, name, { metadata, ...fields } = {}]: readonly [string, string, string, Fields?]
): Object => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }), ...(metadata as Fields | undefined) },
  ...fields,
});

/** An object of a kind without namespaces. */
export const wide = (apiVersion: string, kind: string, name: string, fields: Fields = {}): Object =>
  inside(undefined, apiVersion, kind, name, fields);

export const configMap = (name: string, data: Fields = { a: 'b' }): Object =>
  made('v1', 'ConfigMap', name, { data });
