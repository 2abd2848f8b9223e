import { listOf, textOf } from '../live-field.ts';
import { current, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

export const judgeService = (
  object: unknown,
  { loadBalancer }: Pick<HealthContext, 'loadBalancer'>,
): Verdict => {
  if (textOf(object, 'spec', 'type') !== 'LoadBalancer') return current('it is there');
  if (!textOf(object, 'spec', 'clusterIP')) return inProgress('it has no cluster IP yet');
  if (loadBalancer === 'address' && !hasAddress(object))
    return inProgress('its load balancer has no address yet');
  return current('it has its cluster IP');
};

/** True if `status.loadBalancer.ingress` of a Service or Ingress names an address. */
export const hasAddress = (object: unknown): boolean =>
  listOf(object, 'status', 'loadBalancer', 'ingress').some(
    (one) => textOf(one, 'ip') !== undefined || textOf(one, 'hostname') !== undefined,
  );
