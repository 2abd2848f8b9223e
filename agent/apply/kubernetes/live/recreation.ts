import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isInvalid, refusedFields } from '../api/refusal.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { isHolder } from '../desired/kind-order.ts';

/**
 * Judges the refusal of a change to an object: one that the server takes from a new object needs the object to be made again.
 * @returns 'allowed' if the package lets the agent delete it and make it again; otherwise the error to report, with the annotation that
 * would allow it where it would help @throws FleetError API_*, ABORTED
 */
export const recreationFor = async (
  api: KubernetesApi,
  wanted: WantedObject,
  refusal: FleetError,
  signal: AbortSignal,
): Promise<'allowed' | FleetError> => {
  if (!(await helpsToRecreate(api, wanted, refusal, signal))) return refusal;
  const { recreate } = wanted.policy;
  if (isHolder(wanted) ? recreate === 'with-contents' : recreate !== false) return 'allowed';
  const what = nameOf({ ...wanted, name: wanted.object.metadata.name });
  const how = isHolder(wanted) ? 'with-contents, which deletes what it holds' : 'enabled';
  return new FleetError('API_REFUSED', refusal.message, {
    cause: refusal,
    hint: `To have ${what} deleted and made again, annotate it with fleet-ferry/force: ${how}`,
  });
};

/**
 * True if the server refuses a change that it would take from a new object: a field cannot be changed. Asks the server by a dry run of the
 * same object under another name, because each kind, each definition's rule and each version says "immutable" in words of its own.
 * @param refusal the error of the dry run over the live object @throws FleetError API_*, ABORTED
 */
const helpsToRecreate = async (
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
  const trial = { ...object, metadata: { ...metadata, generateName: `${name.slice(0, MAX_NAME)}-` } };
  try {
    await api.create(
      trial as unknown as LiveObject,
      signal,
      defined({
        dryRun: true,
        secret: secret ? true : undefined,
      }),
    );
    return true;
  } catch (error) {
    // The quota has room when the old object is gone.
    if (isFleetError(error, 'CLUSTER_LACKS')) return true;
    if (!isInvalid(error)) {
      if (isFleetError(error) && !error.retryable) return false;
      throw error;
    }
    // What the old object holds, such as a node port, is refused at another field.
    const again = refusedFields(error);
    return !fields.some((field) => again.some((other) => isWithin(field, other) || isWithin(other, field)));
  }
};

const isWithin = (field: string, other: string): boolean =>
  /^(?:$|[.[])/.test(field.slice(other.length)) && field.startsWith(other);

const IDENTITY = /^spec\.(?:scope|group|names)(?:\.|$)/;
/** The server shortens longer names of generateName itself, but not for labels that are made of them. */
const MAX_NAME = 50;
