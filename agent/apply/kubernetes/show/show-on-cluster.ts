import { isFleetError } from '#bundles/errors';
import type { Target } from '../../../model/target.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { LEASE_TYPE, leaseName } from '../lease/lease-record.ts';
import { createAgentObject } from './show-agent.ts';
import { createHappenings } from './show-happenings.ts';

/**
 * `Target.show` of a cluster: the object FleetAgent, and Kubernetes events about it, both by the agent that took the lease last. A missing right
 * for one of them does not prevent the other.
 */
export const showOnCluster = (
  api: () => Promise<KubernetesApi>,
  { namespace, fleet, agent }: { readonly namespace: string; readonly fleet: string; readonly agent: string },
  elapsedMs: () => number = () => performance.now(),
): NonNullable<Target['show']> => {
  const showAgent = createAgentObject({ namespace, name: fleet, agent }, elapsedMs);
  const showHappenings = createHappenings(elapsedMs);
  return async (facts, happenings, now, signal) => {
    const open = await api();
    const said: string[] = [];
    const allowed = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!isFleetError(error, 'API_DENIED') && !isFleetError(error, 'CLUSTER_LACKS')) throw error;
        said.push(`${error.message}; deploy/kubernetes/base/account.yaml has the right`);
        return undefined;
      }
    };
    const shown = await allowed(() => showAgent(open, facts, now, signal));
    said.push(...(shown?.said ?? []));
    const { name = leaseName(fleet), uid } = shown?.object?.metadata ?? {};
    const object = {
      ...(shown?.object ?? LEASE_TYPE),
      metadata: uid === undefined ? { name } : { name, uid },
    };
    if (happenings.length > 0 && shown?.isOther !== true)
      await allowed(() => showHappenings(open, { namespace, object }, happenings, signal));
    return said;
  };
};
