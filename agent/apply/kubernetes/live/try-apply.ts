import { isFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { inTheWay } from './in-the-way.ts';

export type TriedApply = {
  /** The object that the server would store. */
  readonly dry: LiveObject;
  /** Additions that must be removed first: 'spec.ports[port=81,protocol=TCP] of kubectl-patch'. */
  readonly removes: readonly string[];
};

/**
 * Applies to an existing object as a dry run. If the server refuses because of fields that other managers added, a second dry run
 * removes them. @throws FleetError API_* if the server refuses that as well
 */
export const tryApply = async (
  api: KubernetesApi,
  wanted: WantedObject,
  live: LiveObject,
  signal: AbortSignal,
): Promise<TriedApply> => {
  const { object, secret } = wanted;
  try {
    const options = { dryRun: true, force: true, ...(secret && { secret: true }) };
    return { dry: (await api.apply(object, options, signal)).object, removes: [] };
  } catch (error) {
    if (!isFleetError(error, 'API_REFUSED')) throw error;
    const way = inTheWay(live, object, error.message);
    const dry = way && (await api.patch(wanted, way.operations, signal, { dryRun: true }).catch(orNothing));
    if (!way || !dry) throw error;
    return { dry, removes: way.named };
  }
};

const orNothing = (error: unknown): undefined => {
  if (!isFleetError(error, 'API_REFUSED') && !isFleetError(error, 'FIELD_CONFLICT')) throw error;
};
