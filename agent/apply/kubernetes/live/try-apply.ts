import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { inTheWay } from './in-the-way.ts';

export type TriedApply = {
  /** The object that the server would store. */
  readonly dry: LiveObject;
  /** Fields that must be removed first: 'spec.ports[port=81,protocol=TCP] of kubectl-patch'. */
  readonly removes: readonly string[];
};

/**
 * Applies to an existing object as a dry run. If the server refuses because of fields beside the package's, further dry runs remove
 * them. @throws FleetError API_* if the server refuses those as well
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
    for (const { operations, named } of inTheWay(live, object, error.message)) {
      const dry = await patched(api, wanted, operations, { dryRun: true }, signal);
      if (dry) return { dry, removes: named };
    }
    throw error;
  }
};

/** undefined if the server refuses the patch, or the object changed meanwhile. @throws FleetError API_*, ABORTED */
export const patched = async (
  api: KubernetesApi,
  wanted: WantedObject,
  operations: readonly JsonPatch[],
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<LiveObject | undefined> => {
  try {
    return await api.patch(wanted, operations, signal, { dryRun });
  } catch (error) {
    if (!isFleetError(error, 'API_REFUSED') && !isFleetError(error, 'FIELD_CONFLICT')) throw error;
    return undefined;
  }
};
