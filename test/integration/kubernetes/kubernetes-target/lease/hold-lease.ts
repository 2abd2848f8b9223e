import { openClusterAccess } from '../../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesExclusive } from '../../../../../agent/apply/kubernetes/lease/kubernetes-exclusive.ts';
import type { LeaseOptions } from '../../../../../agent/apply/kubernetes/lease/lease-options.ts';
import { readEdge } from '../../../../../agent/model/edge.ts';
import { acquireLock, placeHeld } from '../../../../../agent/store/lock.ts';
import { toFleetError } from '../../../../../bundles/errors.ts';

export type Holder = {
  readonly kubeconfig: string;
  readonly fleet: string;
  readonly holder: string;
  /** '': none. */
  readonly state: string;
  readonly times: Partial<Pick<LeaseOptions, 'durationMs' | 'renewMs' | 'deadlineMs'>>;
};

/** Holds the lease of its fleet until the signal fires. Calls `say` once it has the lease. @returns why it ended: code and message */
export const holdLease = async (
  { kubeconfig, fleet, holder, state, times }: Holder,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<string> => {
  const { bootId, now } = readEdge(undefined, 'auto', process.env);
  const access = await openClusterAccess({ kubeconfig, context: '' });
  const api = openKubernetesApi(access, { patienceMs: 10_000, requestMs: 10_000 });
  const place = (): string | undefined => placeHeld(state);
  const who = { namespace: 'fleet-system', fleet, who: holder, place };
  const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { waitMs: 0, ...times });
  try {
    using _lock = state === '' ? undefined : await acquireLock(state, 'run', now(), { bootId });
    return await exclusive(signal, async (working) => {
      say('working');
      const { promise, reject } = Promise.withResolvers<never>();
      working.addEventListener('abort', () => reject(working.reason));
      return promise;
    });
  } catch (error) {
    const { code, message } = toFleetError(error);
    return `${code} ${message}`;
  } finally {
    await api.close();
  }
};
