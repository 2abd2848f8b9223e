import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { inParallel } from '../api/in-parallel.ts';

/** One permission of the agent's account; with a namespace only if it depends on one. */
export type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  /** Of one object; absent: of all. */
  readonly name?: string;
};

/** Every verb on every resource, as cluster-admin has it. */
export const ALL_RIGHTS: Right = { verb: '*', group: '*', resource: '*' };

/** 'list, watch secrets; delete namespaces; patch deployments.apps in namespace shop' */
export const formatRights = (rights: readonly Right[]): string =>
  [...Map.groupBy(rights, placeOf)]
    .map(([place, lacking]) => `${lacking.map(({ verb }) => verb).join(', ')} ${place}`)
    .join('; ');

const placeOf = ({ group, resource, namespace }: Right): string =>
  `${group === '' ? resource : `${resource}.${group}`}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;

/** Returns the permissions that the account lacks, in the given order (SelfSubjectAccessReview). @throws FleetError API_*, ABORTED */
export const lackingRights = async (
  api: Pick<KubernetesApi, 'create'>,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<readonly Right[]> => {
  const allowed = await inParallel(rights, async (resourceAttributes) => {
    const { status } = await api.create(review(resourceAttributes), signal);
    return (status as { readonly allowed?: boolean } | undefined)?.allowed === true;
  });
  return rights.filter((_, index) => allowed[index] !== true);
};

/** SelfSubjectAccessReview, which the server answers and does not store. */
const review = (resourceAttributes: Right): LiveObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  metadata: { name: '' },
  spec: { resourceAttributes },
});
