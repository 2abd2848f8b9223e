import { isFleetError } from '#bundles/errors';
import type { CheckResult } from '../../../model/target.ts';
import { sentenceOf } from '../../../store/outbox/sentence-of.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { inParallel } from '../api/in-parallel.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isMarked, type Owner } from '../desired/marks.ts';
import type { HookEnd } from '../desired/order-of.ts';
import { isHook, type WantedObject } from '../desired/wanted-object.ts';
import { conditionOf } from '../health/condition.ts';
import { textOf } from '../health/live-field.ts';

/**
 * Deletes the hooks among these objects that ended in one of `ends`, if their authors want that (fleet-ferry/hook-delete). A hook that is gone counts as
 * complete, so it may be called again after a kill at any point; failed hooks are deleted only once the failure is recorded. A hook that
 * the server does not let go stays and fails nothing: its package did what it should.
 * @returns a check for each hook that stays, with the reason @throws FleetError API_UNREACHABLE, ABORTED
 */
export const deleteHooks = async (
  api: KubernetesApi,
  objects: readonly WantedObject[],
  { owner, ends }: { readonly owner: Owner; readonly ends: readonly HookEnd[] },
  signal: AbortSignal,
): Promise<readonly CheckResult[]> => {
  const hooks = objects.filter(
    (object) => isHook(object) && ends.some((end) => object.policy.order.deletedAfter.has(end)),
  );
  const staying = await inParallel(hooks, async (hook): Promise<CheckResult | undefined> => {
    try {
      const live = await api.read(hook, signal);
      const end = live && isMarked(live, owner) ? endOf(live) : undefined;
      if (!live || !end || !ends.includes(end) || !hook.policy.order.deletedAfter.has(end)) return undefined;
      await api.remove(hook, { uid: live.metadata.uid ?? '', propagation: 'Background' }, signal);
      return undefined;
    } catch (error) {
      if (!isFleetError(error) || error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
      const message = `the hook has run and could not be deleted (fleet-ferry/hook-delete), so it stays: ${sentenceOf(error)}`;
      return { name: nameOf(hook), outcome: 'passed', message };
    }
  });
  return staying.filter((check) => check !== undefined);
};

const endOf = (live: LiveObject): HookEnd | undefined => {
  const phase = textOf(live, 'status', 'phase');
  if (conditionOf(live, 'Complete')?.status === 'True' || phase === 'Succeeded') return 'succeeded';
  return conditionOf(live, 'Failed')?.status === 'True' || phase === 'Failed' ? 'failed' : undefined;
};
