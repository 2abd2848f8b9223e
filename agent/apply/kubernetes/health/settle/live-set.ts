import type { FleetError } from '#bundles/errors';
import type { KubernetesApi, ListOptions, LiveObject, TypeRef } from '../../api/kubernetes-api.ts';
import type { Clock } from '../../watch/clock.ts';
import { type FollowOptions, follow } from '../../watch/follow.ts';

/** Longest pause between attempts to reach the server, short because a command waits. */
const RETRY_MS = 4000;

/** The latest known objects of one kind, namespace and name. */
export type LiveSet = {
  /** Keyed by 'namespace/name'; undefined until the first list. */
  readonly objects: () => ReadonlyMap<string, LiveObject> | undefined;
  /** The last state of an object whose deletion was watched, and which is not there again. */
  readonly last: (place: string) => LiveObject | undefined;
  /** The error since which the known objects may be outdated. */
  readonly lost: () => FleetError | undefined;
};

/**
 * Keeps the objects of a kind that `keep` selects up to date until the signal fires.
 * @param onNews called after a change @param onError called once if listing is denied or refused; then no changes follow
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
  const gone = new Map<string, LiveObject>();
  const put = (into: Map<string, LiveObject>, object: LiveObject) => {
    const kept = keep(object);
    gone.delete(placeOf(object));
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
      const kept = keep(object);
      if (kept) gone.set(placeOf(object), kept);
      on.news();
    },
    lost: (error: FleetError) => {
      lost = error;
      on.news();
    },
  };
  follow(api, type, { ...options, keep }, listener, signal, clock, { retryMs: RETRY_MS, ...how }).catch(
    (error: unknown) => {
      if (!signal.aborted) on.error(error);
    },
  );
  return { objects: () => objects, last: (place) => gone.get(place), lost: () => lost };
};

const placeOf = ({ metadata }: LiveObject): string => placeIn(metadata.namespace, metadata.name);

export const placeIn = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;
