import { type FleetError, isFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject, ObjectRef, TypeRef } from '../api/kubernetes-api.ts';
import { keyOf } from '../desired/object-key.ts';
import { inParallel } from '../api/in-parallel.ts';

/** Number of objects of a kind in a namespace from which the whole namespace is listed: a list costs the server as much as two reads. */
const LIST_FROM = 3;

const UNREAD: ReadonlySet<string> = new Set(['WEBHOOK_UNREACHABLE', 'API_FAILED']);

export type ReadOptions = {
  /** Receives objects that cannot be read because a webhook or API service behind them does not answer; without it that is an error. */
  readonly onUnread?: (key: string, error: FleetError) => void;
  /** Kinds of which a list needs to have the metadata alone. Default: none. */
  readonly metadataOnly?: (type: TypeRef) => boolean;
};

/**
 * Reads the live objects of references; missing objects are not in the map. Many of one kind and namespace are read by one list, Secrets
 * always one by one, so that the agent never reads secrets of other teams.
 * @throws FleetError API_*, ABORTED
 */
export const readLive = async (
  api: KubernetesApi,
  refs: readonly ObjectRef[],
  signal: AbortSignal,
  { onUnread, metadataOnly = () => false }: ReadOptions = {},
): Promise<ReadonlyMap<string, LiveObject>> => {
  const places = Map.groupBy(refs, ({ apiVersion, kind, namespace = '' }) =>
    JSON.stringify([apiVersion, kind, namespace]),
  );
  const orUnread = (of: readonly ObjectRef[], read: () => Promise<readonly LiveObject[]>) => async () => {
    try {
      return await read();
    } catch (error) {
      if (!onUnread || !isFleetError(error) || !UNREAD.has(error.code)) throw error;
      for (const ref of of) onUnread(keyOf(ref), error);
      return [];
    }
  };
  const reads = [...places.values()].flatMap((of): readonly (() => Promise<readonly LiveObject[]>)[] => {
    const [first] = of as [ObjectRef];
    if (of.length < LIST_FROM || first.kind === 'Secret') {
      return of.map((ref) =>
        orUnread([ref], async () => {
          const live = await api.read(ref, signal);
          return live ? [live] : [];
        }),
      );
    }
    const names = new Set(of.map(({ name }) => name));
    return [
      orUnread(of, async () => {
        const keep = (live: LiveObject) => (names.has(live.metadata.name) ? live : undefined);
        const options = { namespace: first.namespace, keep, metadataOnly: metadataOnly(first) };
        return (await api.list(first, options, signal)).items;
      }),
    ];
  });
  const found = (await inParallel(reads, (read) => read())).flat();
  return new Map(
    found.map((live) => {
      const { apiVersion, kind, metadata } = live;
      return [keyOf({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace }), live];
    }),
  );
};

/**
 * As readLive, for a package that is probably new: reads its namespaces first and skips objects in missing ones.
 * @throws FleetError API_*, ABORTED
 */
export const readLiveOfNew = async (
  api: KubernetesApi,
  refs: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LiveObject>> => {
  const isNamespace = ({ apiVersion, kind }: ObjectRef): boolean =>
    apiVersion === 'v1' && kind === 'Namespace';
  const namespaces = refs.filter(isNamespace);
  const found = await readLive(api, namespaces, signal);
  const there = new Set([...found.values()].map(({ metadata }) => metadata.name));
  const absent = new Set(namespaces.map(({ name }) => name).filter((name) => !there.has(name)));
  const rest = refs.filter((ref) => !isNamespace(ref) && !absent.has(ref.namespace ?? ''));
  return new Map([...found, ...(await readLive(api, rest, signal))]);
};
