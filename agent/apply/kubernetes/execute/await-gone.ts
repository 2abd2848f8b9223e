import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { stopIfAborted } from '../api/send.ts';
import { isRecord } from '../../../model/parse-manifests.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** An object on its way out: since when, and why it is still there. */
export type Held = { readonly since: string; readonly message: string };

/**
 * Waits until the object that has this uid is gone; another one of its name does not matter. Returns what holds it where it is
 * still there after `timeoutMs`: its finalizers are never removed (X2). @throws FleetError API_*, ABORTED
 */
export const awaitGone = async (
  api: KubernetesApi,
  ref: ObjectRef,
  uid: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Held | undefined> => {
  const until = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    stopIfAborted(signal);
    const live = await api.read(ref, signal);
    if (!live || live.metadata.uid !== uid) return undefined;
    if (performance.now() >= until) return heldBy(ref, live);
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
};

const heldBy = (ref: ObjectRef, live: LiveObject): Held => {
  const { finalizers = [], deletionTimestamp = '' } = live.metadata;
  const why =
    finalizers.length > 0
      ? `finalizers hold it: ${finalizers.join(', ')}`
      : deletionTimestamp === ''
        ? 'the server has not begun'
        : (whatIsLeft(live) ?? 'what it holds is not gone yet');
  const since = deletionTimestamp === '' ? '' : ` since ${deletionTimestamp}`;
  return { since: deletionTimestamp, message: `${nameOf(ref)} is being deleted${since}: ${why}` };
};

/** A namespace says itself which of its objects do not go, and why. */
const whatIsLeft = ({ status }: LiveObject): string | undefined => {
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  const said = conditions.filter(isRecord).filter((condition) => condition['status'] === 'True');
  return said.length === 0 ? undefined : said.map(({ message }) => String(message)).join('; ');
};
