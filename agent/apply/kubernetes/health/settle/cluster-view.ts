import type { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import type { Clock } from '../../watch/clock.ts';
import { groupObjects } from './group-objects.ts';
import { keepLiveSet, type LiveSet, placeIn } from './live-set.ts';
import { podsOf, trimPod } from './workload-pods.ts';

/** What is known of a package's objects now, kept up to date by watches. */
export type ClusterView = {
  /** 'unread' before the first list; undefined when it is not there. */
  readonly liveOf: (wanted: WantedObject) => LiveObject | 'unread' | undefined;
  /** Begins to follow the pods of these namespaces; those already followed cost nothing. */
  readonly followPods: (namespaces: ReadonlySet<string>) => void;
  readonly podsOf: (workload: LiveObject) => readonly LiveObject[];
  /** The server is away, as far as one of the watches knows. */
  readonly lost: () => FleetError | undefined;
  /** What ends all looking: a kind that may not be read. */
  readonly error: () => unknown;
  /** Resolves at the next news, or after so long. */
  readonly news: (ms: number, signal: AbortSignal) => Promise<void>;
};

const PODS_POLL_MS = 10_000;
/** Namespaces whose pods are watched for reasons; beyond them a verdict has to do without. */
const MOST_POD_NAMESPACES = 2;

/** Follows the objects until the signal. */
export const openClusterView = (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  objects: readonly WantedObject[],
  signal: AbortSignal,
  clock: Clock,
): ClusterView => {
  let failure: { readonly error: unknown } | undefined;
  let wake = new AbortController();
  const on = {
    news: () => wake.abort(),
    error: (error: unknown) => {
      failure ??= { error };
      wake.abort();
    },
  };
  const sets: LiveSet[] = [];
  const setOf = new Map<string, LiveSet>();
  for (const { type, options, objects: some, watch, pollMs } of groupObjects(objects)) {
    const names = new Set(some.map(({ namespace, name }) => placeIn(namespace, name)));
    const keep = (live: LiveObject) =>
      names.has(placeIn(live.metadata.namespace, live.metadata.name)) ? live : undefined;
    const set = keepLiveSet(api, type, options, keep, on, signal, clock, { watch, pollMs });
    sets.push(set);
    for (const { key } of some) setOf.set(key, set);
  }
  const pods = new Map<string, { readonly pods: LiveSet; readonly replicaSets: LiveSet }>();

  return {
    liveOf: ({ key, namespace, name }) => {
      const known = setOf.get(key)?.objects();
      return known ? known.get(placeIn(namespace, name)) : 'unread';
    },
    followPods: (namespaces) => {
      for (const namespace of namespaces) {
        if (pods.has(namespace)) continue;
        const watch = pods.size < MOST_POD_NAMESPACES;
        const how = { watch, pollMs: PODS_POLL_MS };
        // Reasons only: where pods may not be read, verdicts do without.
        const lenient = { ...on, error: () => {} };
        const podType = { apiVersion: 'v1', kind: 'Pod' };
        const setType = { apiVersion: 'apps/v1', kind: 'ReplicaSet' };
        const partial = { namespace, metadataOnly: true };
        pods.set(namespace, {
          pods: keepLiveSet(api, podType, { namespace }, trimPod, lenient, signal, clock, how),
          replicaSets: keepLiveSet(api, setType, partial, (one) => one, lenient, signal, clock, how),
        });
      }
    },
    podsOf: (workload) => {
      const known = pods.get(workload.metadata.namespace ?? '');
      return podsOf(
        workload,
        known?.pods.objects()?.values() ?? [],
        known?.replicaSets.objects()?.values() ?? [],
      );
    },
    lost: () => sets.map((set) => set.lost()).find((error) => error !== undefined),
    error: () => failure?.error,
    news: async (ms, until) => {
      await clock.sleep(ms, AbortSignal.any([wake.signal, until]));
      wake = new AbortController();
    },
  };
};
