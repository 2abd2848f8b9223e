import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { inParallel } from '../api/in-parallel.ts';
import { isMarked, type Owner } from '../desired/marks.ts';
import { isHook, type WantedObject } from '../desired/wanted-object.ts';
import { conditionOf } from '../health/condition.ts';
import { textOf } from '../health/live-field.ts';

/**
 * Deletes the complete hooks among these objects whose authors want them gone (fleet-ferry/hook-delete). A hook that is gone counts as
 * complete, so it may be called again after a kill at any point. A failed hook is not deleted here: it would count as complete as well.
 * @throws FleetError API_*
 */
export const deleteHooks = async (
  api: KubernetesApi,
  objects: readonly WantedObject[],
  owner: Owner,
  signal: AbortSignal,
): Promise<void> => {
  const hooks = objects.filter((object) => isHook(object) && object.policy.order.isDeletedAfter);
  await inParallel(hooks, async (hook) => {
    const live = await api.read(hook, signal);
    if (!live || !isMarked(live, owner) || !isComplete(live)) return;
    await api.remove(hook, { uid: live.metadata.uid ?? '', propagation: 'Background' }, signal);
  });
};

const isComplete = (live: LiveObject): boolean =>
  conditionOf(live, 'Complete')?.status === 'True' || textOf(live, 'status', 'phase') === 'Succeeded';
