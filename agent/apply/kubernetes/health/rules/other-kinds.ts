import { listOf, textOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';
import { conditionOf, formatCause } from '../condition.ts';
import { refusedNames } from '../is-established.ts';

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
const hasAddress = (object: unknown): boolean =>
  listOf(object, 'status', 'loadBalancer', 'ingress').some(
    (one) => textOf(one, 'ip') !== undefined || textOf(one, 'hostname') !== undefined,
  );

/** Many ingress controllers publish no address: on the host's network, or with a load balancer of somebody else before them. */
export const judgeIngress = (object: unknown): Verdict =>
  current(hasAddress(object) ? 'it has an address' : 'it is there; no controller has published an address');

export const judgeNamespace = (object: unknown): Verdict => {
  const phase = textOf(object, 'status', 'phase');
  if (phase === 'Terminating') return { status: 'Terminating', message: 'it is being deleted' };
  return phase === 'Active' ? current('it is active') : inProgress('it is not active yet');
};

/** Set by the scheduler when a pod that uses the claim has a node. Only then binding is expected. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

export const judgeVolumeClaim = (
  object: unknown,
  { lateBinding }: Pick<HealthContext, 'lateBinding'>,
): Verdict => {
  const phase = textOf(object, 'status', 'phase');
  if (phase === 'Bound') return current('it is bound');
  if (phase === 'Lost') return failed('its volume is lost', 0);
  const storageClass = textOf(object, 'spec', 'storageClassName') ?? '';
  const used = textOf(object, 'metadata', 'annotations', SELECTED_NODE) !== undefined;
  if (!used && lateBinding.has(storageClass)) {
    return current(`it waits for its first pod (storage class ${storageClass})`);
  }
  return inProgress(`it is not bound yet${storageClass === '' ? '' : ` (storage class ${storageClass})`}`);
};

export const judgeApiService = (object: unknown): Verdict => {
  const available = conditionOf(object, 'Available');
  if (available?.status === 'True') return current('it is available');
  return inProgress(available ? formatCause(available, 'it is not available') : 'it is not available yet');
};

export const judgeDefinition = (object: unknown): Verdict => {
  const names = refusedNames(object);
  if (names) return failed(`its names are taken: ${formatCause(names, 'no reason given')}`, 0);
  const established = conditionOf(object, 'Established');
  if (established?.status === 'True') return current('it is established');
  if (established?.status === 'False' && established.reason !== 'Installing') {
    return failed(`it is not established: ${formatCause(established, 'no reason given')}`, 0);
  }
  return inProgress('it is not established yet');
};
