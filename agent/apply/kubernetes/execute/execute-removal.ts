import type { Step, StepResult } from '../../../model/target.ts';
import type { KubernetesApi, ObjectRef } from '../api/kubernetes-api.ts';
import { ASSIGNMENT_MARK, FLEET_MARK, isOwner, type Owner } from '../desired/marks.ts';
import { refOf } from '../desired/object-key.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { RemovalDetail } from '../kubernetes-step.ts';
import { awaitGone } from './await-gone.ts';
import { whatHolds } from './what-holds.ts';

/** A pod ends within 30 s, unless it says otherwise; a namespace without foreign finalizers in a few. */
const LONGEST_WAIT_MS = 35_000;

/**
 * Deletes exactly the object that was planned, if it still says it is ours, and waits until it is gone: only then does it
 * leave the inventory (checklist I1, I3). One that something holds is no failure: its state says that it is leaving, and its
 * removal is gone on with later. @throws FleetError API_*
 */
export const executeRemoval = async (
  { fleet, stepTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  { key, outcome, reason }: Step,
  { apiVersion, uid, assignment }: RemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const ref = refOf(key, apiVersion);
  const owner = { fleet, assignment };
  const live = await api.read(ref, signal);
  if (!live) return { key, outcome, reason };
  if (live.metadata.uid !== uid)
    return { key, outcome: 'skipped', reason: 'another object has its name now: it stays' };
  if (!isOwner(live, owner))
    return { key, outcome: 'skipped', reason: 'its owner mark is no longer ours: it stays' };
  const begun = live.metadata.deletionTimestamp !== undefined;
  if (!begun) {
    // Somebody may have put something into it since the plan was made.
    const held = await whatHolds(api, live, owner, signal);
    if (held !== undefined) {
      await detach(api, ref, owner, signal);
      return { key, outcome: 'skipped', reason: `it holds ${held}: it stays and is no longer ours` };
    }
    await api.remove(ref, { uid, propagation: 'Background' }, signal);
  }
  // What was asked to go before was waited for then.
  const waitMs = begun ? 0 : Math.min(stepTimeoutMs, LONGEST_WAIT_MS);
  const leaving = await awaitGone(api, ref, uid, waitMs, signal);
  return leaving
    ? { key, outcome: 'skipped', reason: leaving.message, state: { leaving } }
    : { key, outcome, reason };
};

/** Takes our marks off an object that stays (checklist I6). */
export const executeDetach = async (
  { fleet }: KubernetesTargetOptions,
  api: KubernetesApi,
  { key, outcome, reason }: Step,
  { apiVersion, uid, assignment }: RemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const ref = refOf(key, apiVersion);
  const live = await api.read(ref, signal);
  const owner = { fleet, assignment };
  if (live?.metadata.uid === uid && isOwner(live, owner)) await detach(api, ref, owner, signal);
  return { key, outcome, reason };
};

/** Takes our marks off. */
export const detach = async (
  api: KubernetesApi,
  ref: ObjectRef,
  owner: Owner,
  signal: AbortSignal,
): Promise<void> => {
  const at = (annotation: string): string => `/metadata/annotations/${annotation.replaceAll('/', '~1')}`;
  await api.patch(
    ref,
    [
      { op: 'test', path: at(ASSIGNMENT_MARK), value: owner.assignment },
      { op: 'remove', path: at(ASSIGNMENT_MARK) },
      { op: 'remove', path: at(FLEET_MARK) },
    ],
    signal,
  );
};
