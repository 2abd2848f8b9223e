import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { inParallel } from '../in-parallel.ts';

/** One thing that the agent's account may do or not; a namespace only where it matters. */
export type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
};

/** What the agent does with an object; `create` is what the server asks of the first apply. */
export const VERBS = ['get', 'list', 'watch', 'create', 'patch', 'delete'] as const;

/** 'list, watch secrets; delete namespaces; patch deployments.apps in namespace shop' */
export const sayRights = (rights: readonly Right[]): string =>
  [...Map.groupBy(rights, placeOf)]
    .map(([place, lacking]) => `${lacking.map(({ verb }) => verb).join(', ')} ${place}`)
    .join('; ');

const placeOf = ({ group, resource, namespace }: Right): string =>
  `${group === '' ? resource : `${resource}.${group}`}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;

/** Which of these the agent's account lacks, in the given order; as `kubectl auth can-i` asks. @throws FleetError API_*, ABORTED */
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

/** A question to the server: it is answered and not kept. */
const review = (resourceAttributes: Right): LiveObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  metadata: { name: '' },
  spec: { resourceAttributes },
});
