import type { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import type { ServiceName } from '../rules/webhooks.ts';
import { groupObjects } from './group-objects.ts';
import { keepLiveSet, type LiveSet, placeIn } from './live-set.ts';
import type { SettleOptions } from './settle-options.ts';
import { followServed } from './served-services.ts';
import { podsOf, trimPod } from './workload-pods.ts';

/** The live objects of a package, kept up to date by watches. */
export type ClusterView = {
  /** 'unread' before the first list; undefined if the object does not exist. */
  readonly liveOf: (wanted: WantedObject) => LiveObject | 'unread' | undefined;
  /** The last state of an object that was deleted since it was read. */
  readonly lastOf: (wanted: WantedObject) => LiveObject | undefined;
  /** Starts watching the pods of these namespaces; without effect for watched ones. */
  readonly followPods: (namespaces: ReadonlySet<string>) => void;
  readonly podsOf: (workload: LiveObject) => readonly LiveObject[];
  /** Whether a Service that webhooks of the objects call has a ready endpoint; undefined where that is unknown. */
  readonly isServed: (service: ServiceName) => boolean | undefined;
  /** Error of a watch that cannot reach the server. */
  readonly lost: () => FleetError | undefined;
  /** Fatal error: a kind that the account may not read. */
  readonly error: () => unknown;
  /** Resolves at the next change, or after the given time. */
  readonly news: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** Pauses between lists before the first watch: most objects are Current by then, and no watch is begun whose end costs a connection. */
const EARLY_MS = [30, 60, 120];
const PODS_POLL_MS = 10_000;
/** Upper bound on namespaces whose pods are watched for reasons of failures. */
const MAX_POD_NAMESPACES = 2;

/** Watches the objects until the signal fires. */
export const openClusterView = (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  objects: readonly WantedObject[],
  signal: AbortSignal,
  { clock, later }: Pick<SettleOptions, 'clock' | 'later'>,
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
    const set = keepLiveSet(api, type, options, keep, on, signal, clock, {
      watch,
      pollMs,
      early: EARLY_MS,
    });
    sets.push(set);
    for (const { key } of some) setOf.set(key, set);
  }
  const isServed = followServed(api, objects, on.news, signal, { clock, later });
  const pods = new Map<string, { readonly pods: LiveSet; readonly replicaSets: LiveSet }>();

  return {
    liveOf: ({ key, namespace, name }) => {
      const known = setOf.get(key)?.objects();
      return known ? known.get(placeIn(namespace, name)) : 'unread';
    },
    lastOf: ({ key, namespace, name }) => setOf.get(key)?.last(placeIn(namespace, name)),
    followPods: (namespaces) => {
      for (const namespace of namespaces) {
        if (pods.has(namespace)) continue;
        const watch = pods.size < MAX_POD_NAMESPACES;
        const how = { watch, pollMs: PODS_POLL_MS };
        // Pods only add reasons to verdicts, so a denial is ignored.
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
    isServed,
    lost: () => sets.map((set) => set.lost()).find((error) => error !== undefined),
    error: () => failure?.error,
    news: async (ms, until) => {
      await clock.sleep(ms, AbortSignal.any([wake.signal, until]));
      wake = new AbortController();
    },
  };
};
