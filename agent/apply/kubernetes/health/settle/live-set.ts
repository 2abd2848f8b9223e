import type { FleetError } from '#bundles/errors';
import type { KubernetesApi, ListOptions, LiveObject, TypeRef } from '../../api/kubernetes-api.ts';
import type { Clock } from '../../watch/clock.ts';
import { type FollowOptions, follow } from '../../watch/follow.ts';

/** Somebody waits: a server that is back is to be heard soon. */
const RETRY_MS = 4000;

/** The objects of one kind (and namespace, and name) as they were last heard of. */
export type LiveSet = {
  /** Keyed by 'namespace/name'; undefined until the first list. */
  readonly objects: () => ReadonlyMap<string, LiveObject> | undefined;
  /** Why what is known may be old. */
  readonly lost: () => FleetError | undefined;
};

/**
 * Keeps `keep`'s choice of the objects of a kind up to date until the signal.
 * @param onNews something changed @param onError listing is denied or refused: nothing more will come
 */
export const keepLiveSet = (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  type: TypeRef,
  options: ListOptions,
  keep: (object: LiveObject) => LiveObject | undefined,
  on: { readonly news: () => void; readonly error: (error: unknown) => void },
  signal: AbortSignal,
  clock: Clock,
  how: FollowOptions = {},
): LiveSet => {
  let objects: Map<string, LiveObject> | undefined;
  let lost: FleetError | undefined;
  const put = (into: Map<string, LiveObject>, object: LiveObject) => {
    const kept = keep(object);
    if (kept) into.set(placeOf(object), kept);
    else into.delete(placeOf(object));
  };
  const listener = {
    listed: (items: readonly LiveObject[]) => {
      objects = new Map();
      lost = undefined;
      for (const item of items) put(objects, item);
      on.news();
    },
    changed: (object: LiveObject) => {
      if (objects) put(objects, object);
      on.news();
    },
    deleted: (object: LiveObject) => {
      objects?.delete(placeOf(object));
      on.news();
    },
    lost: (error: FleetError) => {
      lost = error;
      on.news();
    },
  };
  follow(api, type, options, listener, signal, clock, { retryMs: RETRY_MS, ...how }).catch(
    (error: unknown) => {
      if (!signal.aborted) on.error(error);
    },
  );
  return { objects: () => objects, lost: () => lost };
};

const placeOf = ({ metadata }: LiveObject): string => placeIn(metadata.namespace, metadata.name);

export const placeIn = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;
