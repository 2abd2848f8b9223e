import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { lackingRights, type Right, formatRights, VERBS } from '../examine/account-rights.ts';

/**
 * Extends API_DENIED, which names one missing permission, with all permissions that the objects of the package need, so that one change
 * of the role is enough. @returns other errors unchanged, and the error itself if the server gives no answer
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
      `${error.message}. For this package the agent's account lacks: ${formatRights(lacking)}`,
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
    // The package's own CRD defines the kind, so the server does not know it yet.
    if (!type) continue;
    for (const verb of VERBS) {
      const right = defined({ verb, group, resource: type.plural, namespace });
      rights.set(JSON.stringify(right), right);
    }
  }
  return [...rights.values()];
};
