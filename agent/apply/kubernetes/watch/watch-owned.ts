import { compareBytes } from '#bundles/digest';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { keyOf } from '../desired/object-key.ts';
import { type Clock, systemClock } from './clock.ts';
import { follow, type Listener } from './follow.ts';
import { type Hand, handOf, isForeign } from './hand.ts';
import { type WatchedGroup, watchedGroups } from './watched-groups.ts';

export type WatchOptions = {
  readonly clock: Clock;
  /** From the first change to telling of it and all that came meanwhile. */
  readonly gatherMs: number;
  /** Between two lists of what is not watched. */
  readonly pollMs: number;
};

const DEFAULTS: WatchOptions = { clock: systemClock, gatherMs: 500, pollMs: 60_000 };

/**
 * Until the signal: tells the keys of owned objects of which somebody changed a field that is ours, or that somebody
 * deleted. Reads metadata only. What the agent itself changes is not told, nor is what may not be watched: the next look
 * finds that.
 */
export const watchOwned = async (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  owned: readonly ObjectRef[],
  onChange: (keys: readonly string[]) => void,
  signal: AbortSignal,
  options: Partial<WatchOptions> = {},
): Promise<void> => {
  const { clock, gatherMs, pollMs } = { ...DEFAULTS, ...options };
  const gathered = new Set<string>();
  const tellSoon = async (): Promise<void> => {
    await clock.sleep(gatherMs, signal);
    const keys = [...gathered].toSorted(compareBytes);
    gathered.clear();
    if (!signal.aborted) onChange(keys);
  };
  const tell = (key: string): void => {
    const isFirst = gathered.size === 0;
    gathered.add(key);
    if (isFirst) void tellSoon();
  };
  const followGroup = async (group: WatchedGroup): Promise<void> => {
    const { type, namespace, watch } = group;
    const where = { namespace, metadataOnly: true };
    // Denied or refused, the kind goes unwatched.
    await follow(api, type, where, listenTo(group, tell), signal, clock, { watch, pollMs }).catch(() => {});
  };
  await Promise.all(watchedGroups(owned).map(followGroup));
};

/** Remembers each object's hand and tells of those that changed by somebody else's. */
const listenTo = ({ type, keys }: WatchedGroup, tell: (key: string) => void): Listener => {
  const hands = new Map<string, Hand>();
  const keyHere = ({ metadata: { namespace, name } }: LiveObject): string =>
    keyOf({ ...type, namespace, name });
  const note = (object: LiveObject): void => {
    const key = keyHere(object);
    if (!keys.has(key)) return;
    const hand = handOf(object);
    const before = hands.get(key);
    hands.set(key, hand);
    if (isForeign(before, hand)) tell(key);
  };
  const drop = (key: string): void => {
    if (hands.delete(key)) tell(key);
  };
  return {
    listed: (objects) => {
      const there = new Set(objects.map(keyHere));
      for (const key of hands.keys()) if (!there.has(key)) drop(key);
      for (const object of objects) note(object);
    },
    changed: note,
    deleted: (object) => drop(keyHere(object)),
    lost: () => {},
  };
};
