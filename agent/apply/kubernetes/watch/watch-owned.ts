import { compareBytes } from '#bundles/digest';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { keyOf } from '../desired/object-key.ts';
import { type Clock, systemClock } from './clock.ts';
import { follow, type Listener } from './follow.ts';
import { type WatchedGroup, watchedGroups } from './watched-groups.ts';
import { stableHash } from '#bundles/json/stable-hash';
import { isOwnEntry } from '../live/fingerprint.ts';

export type WatchOptions = {
  readonly clock: Clock;
  /** Delay from the first change to its report, which collects further ones. */
  readonly gatherMs: number;
  /** Interval between lists of objects that are not watched. */
  readonly pollMs: number;
};

/** Pause after a denied or refused list. */
const DENIED_MS = 600_000;

const DEFAULTS: WatchOptions = { clock: systemClock, gatherMs: 500, pollMs: 60_000 };

/**
 * Reports, until the signal fires, the keys of owned objects that were deleted or of which a client changed a field of ours. Reads
 * metadata only. Changes by the agent are not reported; objects that cannot be watched are left to the next look.
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
  const notifySoon = async (): Promise<void> => {
    await clock.sleep(gatherMs, signal);
    const keys = [...gathered].toSorted(compareBytes);
    gathered.clear();
    if (!signal.aborted) onChange(keys);
  };
  const tell = (key: string): void => {
    const isFirst = gathered.size === 0;
    gathered.add(key);
    if (isFirst) void notifySoon();
  };
  const followGroup = async (group: WatchedGroup): Promise<void> => {
    const { type, namespace, watch, keys } = group;
    const keep = (object: LiveObject) =>
      keys.has(keyOf({ ...type, ...object.metadata })) ? object : undefined;
    const where = { namespace, metadataOnly: true, keep };
    const listener = listenTo(group, tell);
    while (!signal.aborted) {
      // A kind that is denied or refused is asked about again later, because a role or token may be renewed.
      await follow(api, type, where, listener, signal, clock, { watch, pollMs }).catch(() => {});
      await clock.sleep(DENIED_MS, signal);
    }
  };
  await Promise.all(watchedGroups(owned).map(followGroup));
};

/** Records the metadata of each object and reports those that others changed. */
const listenTo = ({ type, keys }: WatchedGroup, tell: (key: string) => void): Listener => {
  const hands = new Map<string, Ownership>();
  const keyHere = ({ metadata: { namespace, name } }: LiveObject): string =>
    keyOf({ ...type, namespace, name });
  const note = (object: LiveObject): void => {
    const key = keyHere(object);
    if (!keys.has(key)) return;
    const hand = ownershipOf(object);
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

/** Evidence in an object's metadata of the client that changed it. */
type Ownership = {
  /** uid, deletion, and our fields according to managedFields. */
  readonly hash: string;
  /** Time of our last change. */
  readonly ours: string;
};

/**
 * A client that changes a field of ours becomes its owner in managedFields; a status, a default or another field does not affect ours.
 * So metadata is enough and no value is read.
 */
const ownershipOf = ({ metadata }: LiveObject): Ownership => {
  const ours = (metadata.managedFields ?? []).filter(isOwnEntry);
  const { uid = '', deletionTimestamp = '' } = metadata;
  return {
    hash: stableHash([uid, deletionTimestamp, ours.map(({ fieldsV1 = {} }) => fieldsV1)]),
    ours: ours.map(({ time = '' }) => time).join(),
  };
};

/** Our own apply changes the time of our entry, changes by others do not. */
const isForeign = (before: Ownership | undefined, now: Ownership): boolean =>
  before !== undefined && before.hash !== now.hash && (before.ours === now.ours || now.ours === '');
