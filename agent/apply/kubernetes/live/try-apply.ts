import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { isRefusal, saidFields } from '../api/refusal.ts';
import { inTheWay } from './in-the-way.ts';
import { findKept, type MayKeep } from './kept-fields.ts';

export type TriedApply = {
  /** The object that the server would store. */
  readonly dry: LiveObject;
  /** Fields that must be removed first: 'spec.ports[port=81,protocol=TCP] of kubectl-patch'. */
  readonly removes: readonly string[];
  /** Fields that somebody else changed and that the server does not let go back: they keep their live values. */
  readonly keeps: readonly string[];
};

/**
 * Applies to an existing object as a dry run. If the server refuses because of fields beside the package's, further dry runs remove
 * them; if it does not let a field go back that somebody else changed, the last ones keep that field.
 * @throws FleetError API_* if the server refuses those as well
 */
export const tryApply = async (
  api: KubernetesApi,
  wanted: WantedObject,
  live: LiveObject,
  signal: AbortSignal,
  mayKeep: MayKeep,
): Promise<TriedApply> => {
  const { object, secret } = wanted;
  try {
    const options = { dryRun: true, force: true, ...(secret && { secret: true }) };
    return { dry: (await api.apply(object, options, signal)).object, removes: [], keeps: [] };
  } catch (error) {
    if (!isFleetError(error, 'API_REFUSED')) throw error;
    for (const { operations, named } of inTheWay(live, object, saidFields(error))) {
      const dry = await patched(api, wanted, operations, { dryRun: true }, signal);
      if (dry) return { dry, removes: named, keeps: [] };
    }
    const kept = await findKept(api, { wanted, live, mayKeep }, error, signal);
    if (kept) return { ...kept, removes: [] };
    throw error;
  }
};

/** undefined if the server refuses the patch. @throws FleetError FIELD_CONFLICT if the object changed meanwhile; API_*, ABORTED */
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
    if (!isRefusal(error) && !(dryRun && isFleetError(error, 'FIELD_CONFLICT'))) throw error;
    return undefined;
  }
};
