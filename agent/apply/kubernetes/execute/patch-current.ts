import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';

/** Retries after concurrent writes. */
const TRIES = 5;

/**
 * Patches an object according to its current state, and reads it again when somebody else has written it meanwhile. Does nothing if it is gone.
 * @param operationsFor the patch, which tests the resourceVersion; undefined: nothing to do
 * @param found the object if it was just read @throws FleetError API_*, FIELD_CONFLICT after the last try
 */
export const patchCurrent = async (
  api: KubernetesApi,
  ref: ObjectRef,
  {
    operationsFor,
    found,
  }: {
    readonly operationsFor: (live: LiveObject) => readonly JsonPatch[] | undefined;
    readonly found?: LiveObject;
  },
  signal: AbortSignal,
): Promise<void> => {
  let live = found ?? (await api.read(ref, signal));
  for (let left = TRIES; live; left--) {
    const operations = operationsFor(live);
    if (!operations) return;
    try {
      await api.patch(ref, operations, signal);
      return;
    } catch (error) {
      if (!isFleetError(error, 'FIELD_CONFLICT') || left === 0) throw error;
    }
    live = await api.read(ref, signal);
  }
};
