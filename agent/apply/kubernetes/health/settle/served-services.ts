import type { KubernetesApi, LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { fieldOf, listOf } from '../live-field.ts';
import { type ServiceName, servicesNeeded } from '../rules/webhooks.ts';
import { keepLiveSet, type LiveSet } from './live-set.ts';
import type { SettleOptions } from './settle-options.ts';

const SLICES = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' };
const SERVICE = 'kubernetes.io/service-name';
const POLL_MS = 2000;

/**
 * Follows the endpoints of the Services that webhooks of these objects call, until the signal fires.
 * @param onNews called after a change
 * @returns whether a Service has a ready endpoint; undefined where nobody may read that, so that a missing right makes nothing unhealthy
 */
export const followServed = (
  api: Pick<KubernetesApi, 'typeOf' | 'list' | 'watch'>,
  objects: readonly WantedObject[],
  onNews: () => void,
  signal: AbortSignal,
  { clock, later }: Pick<SettleOptions, 'clock' | 'later'>,
): ((service: ServiceName) => boolean | undefined) => {
  const namespaces = new Set(
    objects
      .filter(({ group }) => group === 'admissionregistration.k8s.io')
      .flatMap(({ object }) => servicesNeeded(object).map(({ namespace }) => namespace))
      .filter((namespace) => !later.has(namespace)),
  );
  const denied = new Set<string>();
  const sets = new Map<string, LiveSet>(
    [...namespaces].map((namespace) => {
      const on = {
        news: onNews,
        error: () => {
          denied.add(namespace);
          onNews();
        },
      };
      const how = { watch: true, pollMs: POLL_MS };
      return [namespace, keepLiveSet(api, SLICES, { namespace }, trimSlice, on, signal, clock, how)];
    }),
  );
  return ({ namespace, name }) => {
    const set = sets.get(namespace);
    if (!set || denied.has(namespace)) return undefined;
    const slices = [...(set.objects()?.values() ?? [])];
    return slices.some((slice) => slice.metadata.labels?.[SERVICE] === name && hasReady(slice));
  };
};

/** An endpoint whose controller does not say that it is not ready counts as ready, as for the API server. */
const hasReady = (slice: LiveObject): boolean =>
  listOf(slice, 'endpoints').some((endpoint) => fieldOf(endpoint, 'conditions', 'ready') !== false);

const trimSlice = ({ apiVersion, kind, metadata, endpoints }: LiveObject): LiveObject => ({
  apiVersion,
  kind,
  metadata: { name: metadata.name, namespace: metadata.namespace, labels: metadata.labels },
  endpoints,
});
