import { FleetError } from '#bundles/errors';
import type { DesiredPackage, OwnedObject, Plan } from '../../../model/target.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { resolveWanted } from '../desired/resolve-wanted.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import { readAutoscaled } from '../live/autoscaled.ts';
import { readLive, readLiveOfNew } from '../live/read-live.ts';
import { packageId, stateOf } from '../owned-state.ts';
import { checkClaims } from './check-claims.ts';
import { planApplies } from './plan-applies.ts';
import type { PlanContext } from './plan-context.ts';
import { planRemovals } from './plan-removals.ts';

/**
 * Plans the steps from the live state to the desired state: applications by stage of kind, then removals in reverse order. Dry runs of
 * the applications have succeeded when this returns.
 * @throws FleetError PATH_CLAIMED, API_*, OBJECT_*, YAML_SYNTAX, SITE_VALUES, PRUNE_BUDGET
 */
export const planKubernetes = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  desired: DesiredPackage | undefined,
  owned: readonly OwnedObject[],
  taken: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Plan> => {
  const wanted = desired && (await resolveWanted(api, options.fleet, desired, signal));
  if (wanted?.objects.length === 0 && owned.length > 0)
    throw emptied(desired?.assignment ?? '', owned.length);
  const read = owned.length === 0 ? readLiveOfNew : readLive;
  const live = await read(api, wanted?.objects ?? [], signal);
  const states = new Map(owned.map((object) => [object.key, stateOf(object)]));
  const context: PlanContext = {
    options,
    api,
    owner: { fleet: options.fleet, assignment: desired?.assignment ?? '' },
    wanted,
    packageId: desired ? packageId(desired) : '',
    ranBefore: desired?.ranBefore === true,
    owned: states,
    taken,
    live,
    autoscaled: await readAutoscaled(api, live, signal),
    signal,
  };
  checkClaims(context);
  const applies = await planApplies(context);
  const removals = await planRemovals(context);
  return {
    steps: [...applies.map(({ step }) => step), ...removals],
    owns: applies.flatMap(({ owns }) => owns ?? []),
  };
};

/** Refuses an empty package that would remove all objects of the previous one (checklist P2). */
const emptied = (assignment: string, count: number): FleetError =>
  new FleetError(
    'APPLY_FAILED',
    `the package of ${assignment} has no objects, and ${count} of it are on the cluster`,
    {
      hint: 'To remove a package, take it out of the bundle',
    },
  );
