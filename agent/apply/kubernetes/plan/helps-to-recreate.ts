import { isFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { isInvalid, refusedFields } from '../api/refusal.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';

/**
 * True if the server refuses a change that it would take from a new object: a field cannot be changed. Asks the server by a dry run of the
 * same object under another name, because each kind, each definition's rule and each version says "immutable" in words of its own.
 * @param refusal the error of the dry run over the live object @throws FleetError API_*, ABORTED
 */
export const helpsToRecreate = async (
  api: KubernetesApi,
  wanted: WantedObject,
  refusal: unknown,
  signal: AbortSignal,
): Promise<boolean> => {
  if (!isInvalid(refusal)) return false;
  const fields = refusedFields(refusal);
  // The name of a definition is made of its fields.
  if (isDefinition(wanted)) return fields.every((field) => IDENTITY.test(field));
  const { object, secret } = wanted;
  const { name, ...metadata } = object.metadata;
  const trial = { ...object, metadata: { ...metadata, generateName: `${name.slice(0, MOST_NAME)}-` } };
  try {
    await api.create(trial as unknown as LiveObject, signal, {
      dryRun: true,
      ...(secret && { secret: true }),
    });
    return true;
  } catch (error) {
    // The quota has room when the old object is gone.
    if (isFleetError(error, 'CLUSTER_LACKS')) return true;
    if (!isInvalid(error)) {
      if (isFleetError(error) && !error.retryable) return false;
      throw error;
    }
    // What the old object holds, such as a node port, is refused at another field.
    const again = new Set(refusedFields(error));
    return fields.every((field) => !again.has(field));
  }
};

const IDENTITY = /^spec\.(?:scope|group|names)(?:\.|$)/;
/** The server shortens longer names of generateName itself, but not for labels that are made of them. */
const MOST_NAME = 50;
