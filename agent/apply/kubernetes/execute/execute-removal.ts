import type { Step, StepResult } from '../../../model/target.ts';
import type { JsonPatch, KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { servedRef } from '../api/served-ref.ts';
import { ASSIGNMENT_MARK, FLEET_MARK, isMarked, isOwner, type Owner } from '../desired/marks.ts';
import { refOf } from '../desired/object-key.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { RemovalDetail } from '../kubernetes-step.ts';
import { awaitGone } from './await-gone.ts';
import { patchCurrent } from './patch-current.ts';
import { release } from '../live/foreign-managers.ts';
import { findForeignDependent } from '../live/find-foreign-dependent.ts';

/** How long a step waits for a deletion. A pod ends within 30 s by default, a namespace within a few seconds. */
const MAX_WAIT_MS = 35_000;

/**
 * Deletes the planned object if it still has our mark, and waits until it is gone. Only then it is removed from the inventory
 * (checklist I1, I3). An object held by a finalizer is not a failure: its state says `leaving`, and a later step continues. An object that
 * nobody has written since the plan costs one request: the server compares the version.
 * @throws FleetError API_*
 */
export const executeRemoval = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  step: Step,
  detail: RemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { uid, resourceVersion } = detail;
  // The version of the plan may be gone, by a definition that was applied since.
  const ref = await servedRef(api, refOf(step.key, detail.apiVersion), signal);
  if (!ref) return removed(step);
  const removing = { step, detail, ref };
  if (resourceVersion === undefined) return removeAsRead(options, api, removing, signal);
  const answer = await api.remove(ref, { uid, resourceVersion, propagation: 'Background' }, signal);
  switch (answer) {
    case 'gone':
    case 'deleted':
      return removed(step);
    case 'deleting':
      return awaitRemoval(options, api, removing, false, signal);
    case 'other':
      return removeAsRead(options, api, removing, signal);
  }
};

type Removing = { readonly step: Step; readonly detail: RemovalDetail; readonly ref: ObjectRef };

const removed = ({ key, outcome, reason }: Step): StepResult => ({ key, outcome, reason });

const removeAsRead = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  removing: Removing,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { step, detail, ref } = removing;
  const { key } = step;
  const { uid, assignment } = detail;
  const owner = { fleet: options.fleet, assignment };
  const live = await api.read(ref, signal);
  if (!live) return removed(step);
  if (live.metadata.uid !== uid)
    return { key, outcome: 'skipped', reason: 'another object has its name now: it stays' };
  if (!isOwner(live, owner, uid))
    return {
      key,
      outcome: 'skipped',
      reason: 'it no longer has the owner mark of this agent, so it is kept',
    };
  const begun = live.metadata.deletionTimestamp !== undefined;
  if (!begun) {
    // It may have got content since the plan was made.
    const held = await findForeignDependent(api, live, owner, signal);
    if (held !== undefined) {
      await detach(api, ref, { live, owner }, signal);
      return {
        key,
        outcome: 'skipped',
        reason: `it holds ${held}: it is kept, and the agent no longer manages it`,
      };
    }
    await api.remove(ref, { uid, propagation: 'Background' }, signal);
  }
  return awaitRemoval(options, api, removing, begun, signal);
};

/** @param begun true if an earlier step requested the deletion */
const awaitRemoval = async (
  { stepTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  { step, detail: { uid }, ref }: Removing,
  begun: boolean,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { key } = step;
  // An earlier step has waited for it.
  const waitMs = begun ? 0 : Math.min(stepTimeoutMs, MAX_WAIT_MS);
  const leaving = await awaitGone(api, ref, uid, waitMs, signal);
  return leaving ? { key, outcome: 'skipped', reason: leaving.message, state: { leaving } } : removed(step);
};

/** Removes our marks from an object that stays (checklist I6). */
export const executeDetach = async (
  { fleet }: KubernetesTargetOptions,
  api: KubernetesApi,
  { key, outcome, reason }: Step,
  { apiVersion, uid, assignment }: RemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const ref = await servedRef(api, refOf(key, apiVersion), signal);
  const live = ref && (await api.read(ref, signal));
  const owner = { fleet, assignment };
  if (ref && live?.metadata.uid === uid && isOwner(live, owner, uid))
    await detach(api, ref, { live, owner }, signal);
  return { key, outcome, reason };
};

/** Removes our marks, and our entry in the server's record of field managers. */
export const detach = async (
  api: KubernetesApi,
  ref: ObjectRef,
  { live: found, owner }: { readonly live: LiveObject; readonly owner: Owner },
  signal: AbortSignal,
): Promise<void> => {
  const at = (annotation: string): string => `/metadata/annotations/${annotation.replaceAll('/', '~1')}`;
  const operationsFor = (live: LiveObject): readonly JsonPatch[] | undefined =>
    isMarked(live, owner)
      ? [
          { op: 'test', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
          { op: 'test', path: at(ASSIGNMENT_MARK), value: owner.assignment },
          { op: 'remove', path: at(ASSIGNMENT_MARK) },
          { op: 'remove', path: at(FLEET_MARK) },
          ...release(live),
        ]
      : undefined;
  await patchCurrent(api, ref, { operationsFor, found }, signal);
};
