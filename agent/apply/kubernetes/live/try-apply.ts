import { defined } from '#bundles/defined';
import { type FleetError, isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { isInvalid, isRefusal, describeRefusedFields, refusalOf } from '../api/refusal.ts';
import { type ConflictRemoval, findConflicts } from './find-conflicts.ts';
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
    const options = defined({
      dryRun: true,
      force: wanted.policy.conflicts === 'force',
      secret: secret ? true : undefined,
    });
    return { dry: (await api.apply(object, options, signal)).object, removes: [], keeps: [] };
  } catch (error) {
    if (!isFleetError(error, 'API_REFUSED') || refusalOf(error)?.lostVersion !== undefined) throw error;
    const ways = findConflicts(live, object, describeRefusedFields(error));
    const found = await firstTaken(ways, error, (operations) =>
      patched(api, wanted, operations, { dryRun: true }, signal),
    );
    if (!isFleetError(found)) return { dry: found.taken, removes: found.named, keeps: [] };
    const kept = await findKept(api, { wanted, live, mayKeep }, found, signal);
    if (kept) return { ...kept, removes: [] };
    throw found;
  }
};

/**
 * The first way whose patch the server takes, or why it takes none: its verdict on the package's object where it gave one, because that on
 * the apply may name a `null` that nobody wrote.
 * @param refusal of the apply
 */
export const firstTaken = async (
  ways: readonly ConflictRemoval[],
  refusal: FleetError,
  attempt: (operations: readonly JsonPatch[]) => Promise<LiveObject | FleetError | undefined>,
): Promise<{ readonly taken: LiveObject; readonly named: readonly string[] } | FleetError> => {
  let verdict = refusal;
  for (const { operations, named, isVerdict } of ways) {
    const taken = await attempt(operations);
    if (taken !== undefined && !isFleetError(taken)) return { taken, named };
    if (isVerdict && isInvalid(taken)) verdict = taken;
  }
  return verdict;
};

/**
 * Returns the object as patched, or the refusal of the server; undefined if there is no object, or if it changed meanwhile in a dry run.
 * @throws FleetError FIELD_CONFLICT if the object changed meanwhile; API_*, ABORTED
 */
export const patched = async (
  api: KubernetesApi,
  wanted: WantedObject,
  operations: readonly JsonPatch[],
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<LiveObject | FleetError | undefined> => {
  try {
    return await api.patch(wanted, operations, signal, { dryRun });
  } catch (error) {
    if (isRefusal(error)) return error;
    if (dryRun && isFleetError(error, 'FIELD_CONFLICT')) return undefined;
    throw error;
  }
};
