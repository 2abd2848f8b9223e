import { FleetError } from '#bundles/errors';
import type {
  KubernetesApi,
  ListOptions,
  LiveObject,
  ObjectRef,
  TypeRef,
  WatchEvent,
} from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';

/** The reading and writing half of a cluster's API in memory, with resource versions and watches as the real one has. */
export type MemoryApi = KubernetesApi & {
  /** Creates or changes an object as a controller or a person would. */
  readonly put: (object: object) => void;
  readonly drop: (object: object) => void;
  /** Cuts all watches and answers nothing until it is back. */
  readonly goAway: () => void;
  readonly comeBack: () => void;
  /** Watches end with 410 and everything before is forgotten. */
  readonly compact: () => void;
  /** Refuses a verb by RBAC. */
  readonly deny: (verb: 'list' | 'watch' | 'list EndpointSlice') => void;
  readonly allow: (verb: 'list' | 'watch') => void;
  /** Watches stay open and tell nothing, as over a connection that died without a word. */
  readonly freeze: () => void;
  readonly counts: { list: number; watch: number; replace: number };
};

type Entry = {
  readonly version: number;
  readonly type: 'added' | 'modified' | 'deleted';
  readonly object: LiveObject;
};

export const memoryApi = (): MemoryApi => {
  const objects = new Map<string, LiveObject>();
  const log: Entry[] = [];
  const denied = new Set<string>();
  const counts = { list: 0, watch: 0, replace: 0 };
  let version = 100;
  let oldest = 0;
  let isAway = false;
  let isFrozen = false;
  let news = Promise.withResolvers<void>();
  const ring = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const unreachable = () => new FleetError('API_UNREACHABLE', 'the API server memory does not answer');
  const guard = (verb: string): void => {
    if (isAway) throw unreachable();
    if (denied.has(verb)) throw new FleetError('API_DENIED', `the agent may not ${verb}`);
  };
  const keyOf = ({ apiVersion, kind, namespace = '', name }: ObjectRef): string =>
    [apiVersion, kind, namespace, name].join(' ');
  const keyOfLive = ({ apiVersion, kind, metadata }: LiveObject): string =>
    keyOf({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace });
  const write = (given: LiveObject, type: Entry['type']): LiveObject => {
    version++;
    const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(version) } };
    if (type === 'deleted') objects.delete(keyOfLive(object));
    else objects.set(keyOfLive(object), object);
    log.push({ version, type, object });
    ring();
    return object;
  };
  const put = (given: object): void => {
    const object = given as LiveObject;
    write(object, objects.has(keyOfLive(object)) ? 'modified' : 'added');
  };
  const fits = (object: LiveObject, type: TypeRef, { namespace, fieldSelector }: ListOptions): boolean => {
    if (object.apiVersion !== type.apiVersion || object.kind !== type.kind) return false;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    const involved = object['involvedObject'] as { readonly uid?: string } | undefined;
    return (fieldSelector ?? '').split(',').every((term) => {
      const [field, value] = term.split('=');
      if (field === 'metadata.name') return object.metadata.name === value;
      return field !== 'involvedObject.uid' || involved?.uid === value;
    });
  };

  return {
    server: 'https://memory',
    counts,
    put,
    drop: (object) => void write(object as LiveObject, 'deleted'),
    goAway: () => {
      isAway = true;
      ring();
    },
    comeBack: () => {
      isAway = false;
    },
    compact: () => {
      oldest = ++version;
      ring();
    },
    deny: (verb) => void denied.add(verb),
    allow: (verb) => void denied.delete(verb),
    freeze: () => {
      isFrozen = true;
    },
    version: () => Promise.resolve('1.35.4'),
    typeOf: () => Promise.resolve(undefined),
    types: () => Promise.resolve([]),
    forgetTypes: () => {},
    as: () => {
      throw new FleetError('INTERNAL', 'the API in memory has no accounts');
    },
    read: async (ref) => {
      guard('get');
      return objects.get(keyOf(ref));
    },
    list: async (type, options) => {
      counts.list++;
      guard('list');
      guard(`list ${type.kind}`);
      const { keep = (object) => object } = options;
      const items = [...objects.values()]
        .filter((object) => fits(object, type, options))
        .flatMap((object) => keep(object) ?? []);
      return { items, resourceVersion: String(version) };
    },
    async *watch(type, options, signal): AsyncGenerator<WatchEvent> {
      counts.watch++;
      guard('watch');
      let seen = Number(options.resourceVersion);
      const end = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => end.resolve());
      while (!signal.aborted) {
        if (isAway) throw unreachable();
        if (seen < oldest) {
          yield { type: 'expired' };
          return;
        }
        const next = isFrozen ? undefined : log.find((entry) => entry.version > seen);
        if (next) seen = next.version;
        else await Promise.race([news.promise, end.promise]);
        if (next && fits(next.object, type, options)) yield next;
      }
    },
    apply: () => Promise.reject(new FleetError('API_REFUSED', 'nothing is applied here')),
    create: async (object) => {
      guard('create');
      const { namespace } = object.metadata;
      const home = { apiVersion: 'v1', kind: 'Namespace', name: namespace ?? '' };
      if (namespace !== undefined && !objects.has(keyOf(home))) {
        throw new FleetError('CLUSTER_LACKS', `namespaces "${namespace}" not found`);
      }
      if (objects.has(keyOfLive(object))) throw new FleetError('FIELD_CONFLICT', 'it is there already');
      return write(object, 'added');
    },
    replace: async (object) => {
      counts.replace++;
      guard('update');
      const { resourceVersion } = objects.get(keyOfLive(object))?.metadata ?? {};
      if (resourceVersion !== object.metadata.resourceVersion) {
        throw new FleetError('FIELD_CONFLICT', 'somebody else was first');
      }
      return write(object, 'modified');
    },
    patch: () => Promise.reject(new FleetError('API_REFUSED', 'nothing is patched here')),
    remove: () => Promise.resolve('gone'),
    close: () => Promise.resolve(),
  };
};
