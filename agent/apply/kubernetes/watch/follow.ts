import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { pauseMs } from '#bundles/retry';
import type { KubernetesApi, ListOptions, LiveObject, TypeRef } from '../api/kubernetes-api.ts';
import type { Clock } from './clock.ts';

/** What there is to hear of the objects of one kind. */
export type Listener = {
  /** All there are, at first and after every gap in what was heard. */
  readonly listed: (objects: readonly LiveObject[]) => void;
  readonly changed: (object: LiveObject) => void;
  readonly deleted: (object: LiveObject) => void;
  /** The server is out of reach: what was heard last may be old until `listed` is called again. */
  readonly lost: (error: FleetError) => void;
};

export type FollowOptions = {
  /** False: lists only. */
  readonly watch?: boolean;
  /** Between two lists where watching is not possible. */
  readonly pollMs?: number;
  /** The longest pause between two tries to reach a server that is away. */
  readonly retryMs?: number;
};

const POLL_MS = 5000;
const LONGEST_RETRY_MS = 30_000;
/** Longer than a server lets a watch be: one whose connection died without a word must not be listened to for ever. */
const LONGEST_WATCH_MS = 6 * 60_000;
/** A server that ends every watch at once must not be asked without a pause. */
const SHORTEST_MS = 1000;
const FIRST_RETRY_MS = 500;

/**
 * Lists the objects of a kind, then watches them until the signal: goes on after the server's own time limit, lists anew
 * after a cut or an expired version (410), and only lists where watching is denied or the kind is not known (yet).
 * @throws FleetError API_DENIED and API_REFUSED when even listing is
 */
export const follow = async (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  type: TypeRef,
  options: ListOptions,
  listener: Listener,
  signal: AbortSignal,
  clock: Clock,
  { watch = true, pollMs = POLL_MS, retryMs = LONGEST_RETRY_MS }: FollowOptions = {},
): Promise<void> => {
  const policy = { firstMs: FIRST_RETRY_MS, longestMs: retryMs, jitter: 'none' } as const;
  let failures = 0;
  let mayWatch = watch;
  while (!signal.aborted) {
    try {
      // A kind whose definition came a moment ago is found only when discovery is asked again.
      await api.typeOf(type, signal);
      const list = await api.list(type, options, signal);
      listener.listed(list.items);
      failures = 0;
      if (!mayWatch || list.resourceVersion === '0') {
        await clock.sleep(pollMs, signal);
        continue;
      }
      const from = { ...options, resourceVersion: list.resourceVersion };
      const begin = clock.elapsedMs();
      mayWatch = await watchFrom(api, type, from, listener, signal, clock);
      if (clock.elapsedMs() - begin < SHORTEST_MS) await clock.sleep(SHORTEST_MS, signal);
    } catch (cause) {
      if (signal.aborted) return;
      const error = toFleetError(cause);
      if (error.code !== 'API_UNREACHABLE') throw error;
      listener.lost(error);
      failures += 1;
      await clock.sleep(pauseMs(policy, failures), signal);
    }
  }
};

/** Until there is a gap: then everything has to be listed anew. @returns false where watching is denied */
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
      const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_WATCH_MS)]);
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
    if (clock.elapsedMs() - begin < SHORTEST_MS) await clock.sleep(SHORTEST_MS, signal);
  }
  return true;
};
