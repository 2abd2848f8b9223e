import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { pauseMs } from '#bundles/retry';
import type { KubernetesApi, ListOptions, LiveObject, TypeRef } from '../api/kubernetes-api.ts';
import type { Clock } from './clock.ts';

/** Callbacks for changes of the objects of one kind. */
export type Listener = {
  /** All objects, at first and after every gap in the stream of changes. */
  readonly listed: (objects: readonly LiveObject[]) => void;
  readonly changed: (object: LiveObject) => void;
  readonly deleted: (object: LiveObject) => void;
  /** The server is unreachable or fails with this kind: the known objects may be outdated until `listed` is called again. */
  readonly lost: (error: FleetError) => void;
};

export type FollowOptions = {
  /** False: lists only. */
  readonly watch?: boolean;
  /** Interval between lists if watching is not possible. */
  readonly pollMs?: number;
  /** Longest pause between attempts to reach the server. */
  readonly retryMs?: number;
  /** Pauses between lists before the first watch, whose end costs its connection. */
  readonly early?: readonly number[];
};

const POLL_MS = 5000;
const MAX_RETRY_MS = 30_000;
/** Timeout of a watch, longer than the server's limit, for connections that died silently. */
const MAX_WATCH_MS = 6 * 60_000;
/** Pause for a server that ends every watch at once. */
const MIN_MS = 1000;
const FIRST_RETRY_MS = 500;

/**
 * Lists the objects of a kind, then watches them until the signal fires. Continues after the server's time limit, lists again after a
 * broken connection or an expired version (410), and only lists if watching is denied or the kind is unknown.
 * @throws FleetError API_DENIED, API_REFUSED if listing is denied or refused
 */
export const follow = async (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  type: TypeRef,
  options: ListOptions,
  listener: Listener,
  signal: AbortSignal,
  clock: Clock,
  { watch = true, pollMs = POLL_MS, retryMs = MAX_RETRY_MS, early = [] }: FollowOptions = {},
): Promise<void> => {
  const policy = { firstMs: FIRST_RETRY_MS, longestMs: retryMs, jitter: 'none' } as const;
  let failures = 0;
  let mayWatch = watch;
  let lists = 0;
  while (!signal.aborted) {
    try {
      // A kind whose CRD was just created is found only after another discovery.
      await api.typeOf(type, signal);
      const list = await api.list(type, options, signal);
      listener.listed(list.items);
      failures = 0;
      if (!mayWatch || list.resourceVersion === '0') {
        await clock.sleep(pollMs, signal);
        continue;
      }
      const pause = early[lists];
      lists += 1;
      if (pause !== undefined) {
        await clock.sleep(pause, signal);
        continue;
      }
      const from = { ...options, resourceVersion: list.resourceVersion };
      const begin = clock.elapsedMs();
      mayWatch = await watchFrom(api, type, from, listener, signal, clock);
      if (clock.elapsedMs() - begin < MIN_MS) await clock.sleep(MIN_MS, signal);
    } catch (cause) {
      if (signal.aborted) return;
      const error = toFleetError(cause);
      if (!error.retryable) throw error;
      listener.lost(error);
      failures += 1;
      await clock.sleep(pauseMs(policy, failures), signal);
    }
  }
};

/** Watches until a gap, after which all objects must be listed again. @returns false if watching is denied */
const watchFrom = async (
  api: Pick<KubernetesApi, 'watch'>,
  type: TypeRef,
  options: ListOptions & { readonly resourceVersion: string },
  listener: Listener,
  signal: AbortSignal,
  clock: Clock,
): Promise<boolean> => {
  let { resourceVersion } = options;
  while (!signal.aborted) {
    const begin = clock.elapsedMs();
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_WATCH_MS)]);
      for await (const event of api.watch(type, { ...options, resourceVersion }, limit)) {
        if (event.type === 'expired') return true;
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
        if (event.type === 'deleted') listener.deleted(event.object);
        else if (event.type !== 'bookmark') listener.changed(event.object);
      }
    } catch (error) {
      if (isFleetError(error, 'API_DENIED')) return false;
      throw error;
    }
    if (clock.elapsedMs() - begin < MIN_MS) await clock.sleep(MIN_MS, signal);
  }
  return true;
};
