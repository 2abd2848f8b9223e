import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { stopIfAborted } from '../api/send.ts';
import { isRecord } from '../desired/parse-manifests.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * Waits until the object that has this uid is gone; another one of its name does not matter.
 * @throws FleetError APPLY_FAILED that names what holds it after `timeoutMs`: its finalizers are never removed (X2)
 */
export const awaitGone = async (
  api: KubernetesApi,
  ref: ObjectRef,
  uid: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> => {
  const until = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    stopIfAborted(signal);
    const live = await api.read(ref, signal);
    if (!live || live.metadata.uid !== uid) return;
    if (performance.now() > until) throw held(ref, live, timeoutMs);
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
};

const held = (ref: ObjectRef, live: LiveObject, timeoutMs: number): FleetError => {
  const { metadata } = live;
  const { finalizers = [], deletionTimestamp } = metadata;
  const why =
    finalizers.length > 0
      ? `finalizers hold it: ${finalizers.join(', ')}`
      : deletionTimestamp === undefined
        ? 'the server has not begun'
        : (whatIsLeft(live) ?? 'what it holds is not gone yet');
  const since = deletionTimestamp === undefined ? '' : ` since ${deletionTimestamp}`;
  const waited = `after ${Math.round(timeoutMs / 1000)} s`;
  return new FleetError(
    'APPLY_FAILED',
    `${nameOf(ref)} is being deleted${since} and not gone ${waited}: ${why}`,
    {
      hint: 'See why the controller that put the finalizer there does not remove it',
    },
  );
};

/** A namespace says itself which of its objects do not go, and why. */
const whatIsLeft = ({ status }: LiveObject): string | undefined => {
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  const said = conditions.filter(isRecord).filter((condition) => condition['status'] === 'True');
  return said.length === 0 ? undefined : said.map(({ message }) => String(message)).join('; ');
};
