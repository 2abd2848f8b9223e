import { FleetError, isFleetError } from '#bundles/errors';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { lackingRights, type Right, sayRights, VERBS } from '../examine/account-rights.ts';

/**
 * The server names the one right that a request lacked. Of a package whose plan was refused, this names all that its objects lack, so
 * that one change of the role is enough.
 * @returns the error itself where it is another one, or the server cannot say
 */
export const nameRights = async (
  error: unknown,
  api: KubernetesApi,
  wanted: () => Promise<readonly WantedObject[]>,
  signal: AbortSignal,
): Promise<unknown> => {
  if (!isFleetError(error, 'API_DENIED')) return error;
  try {
    const rights = await rightsFor(api, await wanted(), signal);
    const lacking = await lackingRights(api, rights, signal);
    if (lacking.length < 2) return error;
    return new FleetError(
      'API_DENIED',
      `${error.message}. For this package the agent's account lacks: ${sayRights(lacking)}`,
      { cause: error, hint: 'Give its account a role that allows all of it' },
    );
  } catch {
    return error;
  }
};

const rightsFor = async (
  api: KubernetesApi,
  objects: readonly WantedObject[],
  signal: AbortSignal,
): Promise<readonly Right[]> => {
  const rights = new Map<string, Right>();
  for (const { apiVersion, kind, group, namespace } of objects) {
    const type = await api.typeOf({ apiVersion, kind }, signal);
    // A kind that the package brings itself is not known yet.
    if (!type) continue;
    for (const verb of VERBS) {
      const right = { verb, group, resource: type.plural, ...(namespace !== undefined && { namespace }) };
      rights.set(JSON.stringify(right), right);
    }
  }
  return [...rights.values()];
};
