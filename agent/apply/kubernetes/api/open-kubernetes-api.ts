import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseExactJson, writeExactJson } from '#bundles/json/exact-json';
import { failsWith, toApiError } from './api-error.ts';
import type { Status } from './status.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { discover, type Types } from './discover.ts';
import type {
  DeleteOptions,
  KubernetesApi,
  ListOptions,
  LiveObject,
  ObjectRef,
  ResourceType,
  TypeRef,
} from './kubernetes-api.ts';
import { pathOf, selectors } from './request-path.ts';
import { listRights, rightsFor } from './request-rights.ts';
import { actingAs, type Answer, createSender, type RetryLimits, type Sender } from './send.ts';
import { servedRef } from './served-ref.ts';
import { watchEvents } from './watch-events.ts';

/** Our field manager. Never change it: under another name the agent would conflict with its own fields. */
export const FIELD_MANAGER = 'fleet-agent';

const PAGE = 500;
/** Lifetime of cached discovery, because others install and remove CRDs. */
const TYPES_MS = 10 * 60_000;
/** Shortest pause between two discoveries for unknown kinds, so that many objects of one cause a single request. */
const UNKNOWN_MS = 1000;

const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Creates a client of one cluster. It connects with the first request. */
export const openKubernetesApi = (access: ClusterAccess, patience: RetryLimits): KubernetesApi => {
  const sender = createSender(access, patience);
  const discovery = createDiscovery(sender);
  return apiOf(access, sender, discovery);
};

type Discovery = Pick<KubernetesApi, 'typeOf' | 'types' | 'forgetTypes'>;

const createDiscovery = (sender: Sender): Discovery => {
  let known: { readonly types: Types; readonly at: number; readonly isWhole: boolean } | undefined;
  let asking: Promise<Types> | undefined;

  const ask = async (signal: AbortSignal): Promise<Types> => {
    const types = await discover(sender, signal);
    known = { types, at: performance.now(), isWhole: false };
    return types;
  };
  /** The first requests of a program come together, and share one discovery. */
  const typesNow = async (signal: AbortSignal): Promise<Types> => {
    if (known && performance.now() - known.at <= TYPES_MS) return known.types;
    if (asking) return await asking.catch(() => ask(signal));
    asking = ask(signal).finally(() => {
      asking = undefined;
    });
    return await asking;
  };
  /** While a server starts, its discovery lacks the kinds of CRDs: only that of a ready server proves that a kind is missing. */
  const allTypes = async (signal: AbortSignal, maxAgeMs: number): Promise<Types> => {
    if (!known?.isWhole || performance.now() - known.at > maxAgeMs) {
      await sender.ready(signal);
      known = { types: await discover(sender, signal), at: performance.now(), isWhole: true };
    }
    return known.types;
  };
  const typeOf = async (type: TypeRef, signal: AbortSignal): Promise<ResourceType | undefined> => {
    const before = (await typesNow(signal)).find(type);
    if (before) return before;
    const types = await allTypes(signal, UNKNOWN_MS);
    const found = types.find(type);
    if (found || !types.isHidden(type)) return found;
    throw new FleetError(
      'API_FAILED',
      `the API service behind ${type.apiVersion} does not answer, so nothing is known of its kind ${type.kind}`,
      { hint: 'The agent tries again automatically, with growing pauses; restart what serves it' },
    );
  };
  return {
    typeOf,
    types: async (signal) => (await allTypes(signal, TYPES_MS)).all,
    forgetTypes: () => {
      known = undefined;
      asking = undefined;
    },
  };
};

const apiOf = (access: ClusterAccess, sender: Sender, discovery: Discovery): KubernetesApi => {
  const { typeOf, forgetTypes } = discovery;
  const needType = async (
    ref: TypeRef & Partial<Pick<ObjectRef, 'name' | 'namespace'>>,
    signal: AbortSignal,
  ) => {
    const type = await typeOf(ref, signal);
    // Without the namespace, the path would be that of an object for the whole cluster.
    if (type && !type.namespaced && ref.namespace !== undefined)
      throw new FleetError(
        'CLUSTER_LACKS',
        `the cluster has ${ref.kind} (${ref.apiVersion}) without namespaces, and ${ref.name ?? 'an object'} is in ${ref.namespace}`,
        { hint: 'Correct the scope in the definition of its kind, or apply that definition' },
      );
    if (type) return type;
    throw new FleetError(
      'CLUSTER_LACKS',
      `the cluster has no kind ${ref.kind} in ${ref.apiVersion}${ref.name === undefined ? '' : ` (for ${ref.name})`}`,
      {
        hint: 'Install its CustomResourceDefinition, and the agent continues automatically; or correct apiVersion and kind',
      },
    );
  };
  /**
   * Asks about objects, which outlive the version that they were written in: where the server has lost that version since the last discovery,
   * it is asked again in another one. undefined if it has lost the kind. @throws FleetError API_*
   */
  const served = async <R extends TypeRef, T>(
    ref: R,
    ask: (type: ResourceType, as: R) => Promise<T | typeof UNSERVED>,
    signal: AbortSignal,
  ): Promise<T | undefined> => {
    const type = await typeOf(ref, signal);
    if (!type) return undefined;
    const answer = await ask(type, ref);
    if (answer !== UNSERVED) return answer;
    forgetTypes();
    const other = await servedRef(discovery, ref, signal);
    const next = other && (await typeOf(other, signal));
    if (!next) return undefined;
    const again = await ask(next, other);
    if (again === UNSERVED) throw failsWith(404, {}, { verb: 'get', what: type.plural, secret: false });
    return again;
  };
  const write = async (
    method: 'POST' | 'PUT' | 'PATCH',
    verb: string,
    object: LiveObject,
    more: {
      readonly query?: Readonly<Record<string, string>>;
      readonly contentType?: string;
      readonly secret?: true;
    },
    signal: AbortSignal,
  ) => {
    const { apiVersion, kind, metadata } = object;
    const ref = { apiVersion, kind, ...metadata };
    const type = await needType(ref, signal);
    const path = pathOf(type, metadata.namespace, method === 'POST' ? undefined : metadata.name);
    const answer = await sender.send(
      {
        method,
        path,
        body: writeExactJson(object),
        ...defined({ anyVersion: metadata.resourceVersion === undefined || undefined }),
        rights: rightsFor(type, verb, ref),
        ...subjectOf(verb, ref),
        ...more,
      },
      signal,
    );
    return { object: parseExactJson(answer.body) as LiveObject, created: answer.code === 201 };
  };

  return {
    server: access.server,
    version: async (signal) => {
      const request = {
        method: 'GET',
        path: '/version',
        verb: 'get',
        what: 'its version',
        secret: false,
      } as const;
      const { body } = await sender.send(request, signal);
      return (JSON.parse(body) as { gitVersion: string }).gitVersion.replace(/^v/, '');
    },
    ...discovery,
    as: (user) => apiOf(access, actingAs(sender, user), discovery),
    read: (ref, signal) => served(ref, (type, as) => readOne(sender, type, as, signal), signal),
    list: async (ref, options, signal) =>
      (await served<TypeRef, FoundList>(
        ref,
        (type, as) => listAll(sender, type, as, options, signal),
        signal,
      )) ?? {
        items: [],
        resourceVersion: '0',
      },
    apply: async (object, { dryRun = false, force, secret = false }, signal) =>
      write(
        'PATCH',
        'apply',
        object,
        defined({
          contentType: 'application/apply-patch+yaml',
          secret: secret || undefined,
          query: defined({
            fieldManager: FIELD_MANAGER,
            fieldValidation: 'Strict',
            force: String(force),
            dryRun: dryRun ? 'All' : undefined,
          }),
        }),
        signal,
      ),
    create: async (object, signal, { dryRun = false, secret = false } = {}) =>
      (
        await write(
          'POST',
          'create',
          object,
          defined({
            secret: secret || undefined,
            query: {
              fieldManager: FIELD_MANAGER,
              ...(dryRun && { dryRun: 'All', fieldValidation: 'Strict' }),
            },
          }),
          signal,
        )
      ).object,
    replace: async (object, signal) =>
      (await write('PUT', 'update', object, { query: { fieldManager: FIELD_MANAGER } }, signal)).object,
    patch: async (ref, operations, signal, { dryRun = false, subresource } = {}) => {
      const type = await needType(ref, signal);
      const answer = await sender.send(
        {
          method: 'PATCH',
          path: `${pathOf(type, ref.namespace, ref.name)}${subresource ? `/${subresource}` : ''}`,
          query: defined({ fieldManager: FIELD_MANAGER, dryRun: dryRun ? 'All' : undefined }),
          contentType: 'application/json-patch+json',
          body: writeExactJson(operations),
          expect: [404, 422],
          rights: rightsFor(type, 'patch', ref),
          ...subjectOf('patch', ref),
        },
        signal,
      );
      if (isUnserved(answer)) throw toApiError(answer, subjectOf('patch', ref), access.server);
      if (answer.code === 404) return undefined;
      if (answer.code === 422) throw patchRefused(answer.status, ref, access.server);
      return parseExactJson(answer.body) as LiveObject;
    },
    remove: async (ref, options, signal) =>
      (await served(ref, (type, as) => removeOne(sender, type, as, options, signal), signal)) ?? 'gone',
    watch: (ref, options, signal) =>
      watchEvents(sender, () => needType(ref, signal), access.server, ref, options, signal),
    close: () => sender.close(),
  };
};

/**
 * A failed `test` or a missing path means that the object was changed meanwhile; everything else is a refusal. The server names no
 * cause for a patch that does not match.
 */
const patchRefused = (status: Status, ref: ObjectRef, server: string): FleetError =>
  (status.details?.causes ?? []).length === 0
    ? new FleetError('FIELD_CONFLICT', `${nameOf(ref)} was changed by somebody else at the same moment`)
    : toApiError({ code: 422, status }, subjectOf('patch', ref), server);

/** The server does not have the version of the kind any more. */
const UNSERVED = Symbol('unserved');

/** True for a 404 about the path: one about an object names it. */
const isUnserved = ({ code, status }: Answer): boolean => code === 404 && status.details?.name === undefined;

const readOne = async (
  sender: Sender,
  type: ResourceType,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<LiveObject | undefined | typeof UNSERVED> => {
  const path = pathOf(type, ref.namespace, ref.name);
  const rights = rightsFor(type, 'get', ref);
  const answer = await sender.send(
    { method: 'GET', path, expect: [404], rights, ...subjectOf('get', ref) },
    signal,
  );
  if (isUnserved(answer)) return UNSERVED;
  return answer.code === 404 ? undefined : (parseExactJson(answer.body) as LiveObject);
};

type FoundList = { readonly items: readonly LiveObject[]; readonly resourceVersion: string };

const listAll = async (
  sender: Sender,
  type: ResourceType,
  ref: TypeRef,
  options: ListOptions,
  signal: AbortSignal,
): Promise<FoundList | typeof UNSERVED> => {
  const { keep } = options;
  for (let limit: string | undefined = String(PAGE); ; limit = undefined) {
    const items: LiveObject[] = [];
    let next = '';
    let resourceVersion = '0';
    let expired = false;
    do {
      const answer = await sender.send(
        defined({
          method: 'GET',
          path: pathOf(type, options.namespace, undefined),
          query: {
            ...selectors(options),
            ...defined({ limit, continue: next !== '' ? next : undefined }),
          },
          accept: options.metadataOnly ? PARTIAL_LIST : undefined,
          expect: [404, 410],
          rights: listRights(type, options),
          verb: 'list',
          what: `${type.plural}${options.namespace === undefined ? '' : ` of ${options.namespace}`}`,
          secret: type.kind === 'Secret',
        }),
        signal,
      );
      if (answer.code === 404) return UNSERVED;
      expired = answer.code === 410;
      if (expired) break;
      const page = parseExactJson(answer.body) as ListPage;
      // Items of a list lack apiVersion and kind.
      const found = (page.items ?? []).map((item) => ({
        ...item,
        apiVersion: ref.apiVersion,
        kind: ref.kind,
      }));
      items.push(...(keep ? found.flatMap((item) => keep(item) ?? []) : found));
      next = page.metadata?.continue ?? '';
      resourceVersion = page.metadata?.resourceVersion ?? '0';
    } while (next !== '');
    // The continue token expired, and may do so each time: all pages in one answer.
    if (!expired) return { items, resourceVersion };
  }
};

type ListPage = {
  readonly items?: readonly LiveObject[];
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
};

const removeOne = async (
  sender: Sender,
  type: ResourceType,
  ref: ObjectRef,
  { uid, resourceVersion, propagation }: DeleteOptions,
  signal: AbortSignal,
) => {
  const preconditions = defined({
    uid,
    resourceVersion,
  });
  const answer = await sender.send(
    {
      method: 'DELETE',
      path: pathOf(type, ref.namespace, ref.name),
      body: JSON.stringify({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: propagation,
        preconditions: Object.keys(preconditions).length > 0 ? preconditions : undefined,
      }),
      expect: [404, 409],
      rights: rightsFor(type, 'delete', ref),
      ...subjectOf('delete', ref),
    },
    signal,
  );
  if (isUnserved(answer)) return UNSERVED;
  if (answer.code === 404) return 'gone';
  if (answer.code === 409) {
    const live = await readOne(sender, type, ref, signal);
    if (live === UNSERVED) return UNSERVED;
    if (!live) return 'gone';
    if (uid !== undefined && live.metadata.uid !== uid) return 'other';
    if (resourceVersion !== undefined && live.metadata.resourceVersion !== resourceVersion) return 'other';
    // The answer for a namespace that is already terminating.
    if (live.metadata.deletionTimestamp !== undefined) return 'deleting';
    throw toApiError(answer, subjectOf('delete', ref), '');
  }
  const left = JSON.parse(answer.body) as Partial<LiveObject>;
  return left.kind === 'Status' || left.metadata?.deletionTimestamp === undefined ? 'deleted' : 'deleting';
};

/** 'Deployment shop/web'. */
export const nameOf = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name}`;

const subjectOf = (verb: string, ref: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>) => ({
  verb,
  what: nameOf(ref),
  secret: ref.kind === 'Secret',
});
