import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { inParallel } from '../in-parallel.ts';

/** One thing that the agent's account may do or not; a namespace only where it matters. */
export type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
};

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
