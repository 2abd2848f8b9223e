import { setTimeout as sleep } from 'node:timers/promises';
import { pauseMs } from '#bundles/retry';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { stopIfAborted } from '../api/send.ts';
import { isRecord } from '#bundles/is-record';

const PAUSES = { firstMs: 50, longestMs: 1000, jitter: 'none' } as const;

/** An object that is being deleted: since when, and why it still exists. */
export type TerminatingObject = { readonly since: string; readonly message: string };

/**
 * Waits until the object with this uid is gone; a new object of the same name does not count. Finalizers are never removed (X2).
 * @returns what holds the object, if it still exists after `timeoutMs`
 * @throws FleetError API_*, ABORTED
 */
export const awaitGone = async (
  api: KubernetesApi,
  ref: ObjectRef,
  uid: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TerminatingObject | undefined> => {
  const until = performance.now() + timeoutMs;
  for (let reads = 1; ; reads += 1) {
    stopIfAborted(signal);
    const live = await api.read(ref, signal);
    if (!live || live.metadata.uid !== uid) return undefined;
    if (performance.now() >= until) return heldBy(ref, live);
    await sleep(pauseMs(PAUSES, reads), undefined, { signal }).catch(() => {});
  }
};

const heldBy = (ref: ObjectRef, live: LiveObject): TerminatingObject => {
  const { deletionTimestamp = '' } = live.metadata;
  const why = whyHeld(live);
  const since = deletionTimestamp === '' ? '' : ` since ${deletionTimestamp}`;
  return { since: deletionTimestamp, message: `${nameOf(ref)} is being deleted${since}: ${why}` };
};

const whyHeld = (live: LiveObject): string => {
  const { finalizers = [], deletionTimestamp = '' } = live.metadata;
  if (finalizers.length > 0) return `finalizers hold it: ${finalizers.join(', ')}`;
  if (deletionTimestamp === '') return 'the server has not begun';
  return describeRemaining(live) ?? 'its dependents still exist';
};

/** The conditions of a namespace name the objects that remain in it, and why. */
const describeRemaining = ({ status }: LiveObject): string | undefined => {
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  const said = conditions.filter(isRecord).filter((condition) => condition['status'] === 'True');
  return said.length === 0 ? undefined : said.map(({ message }) => String(message)).join('; ');
};
