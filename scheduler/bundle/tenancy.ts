import { FleetError } from '#bundles/errors';
import type { DeploymentTarget } from '../platform/model.ts';
import { ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES, type Bounds } from '../platform/objects/bounds.ts';
import { isClusterScoped, type KubernetesObject, placeOfField } from './kubernetes-object.ts';

/** The platform's own: rendered files, and workloads that stand in the platform itself. */
export const UNBOUND: Bounds = { clusterScoped: ['*'], namespaces: ['*'] };

/**
 * A registered application is a tenant: only its own namespace, and what the platform's registration allows it
 * (docs/decisions/0018-tenants-stay-inside.md). A workload that stands in the platform was written by who may do all.
 */
export const boundsOf = (target: DeploymentTarget): Bounds =>
  target.registration === undefined ? UNBOUND : (target.bounds ?? { clusterScoped: [], namespaces: [] });

/** Tells apart what was judged under other bounds. */
export const boundsKey = ({ clusterScoped, namespaces }: Bounds): string =>
  `${clusterScoped.join(',')};${namespaces.join(',')}`;

/** What is wrong with an object of a tenant, if anything: NAMESPACE_FOREIGN, CLUSTER_SCOPED. */
export const findTrespass = (
  object: KubernetesObject,
  own: string,
  { clusterScoped, namespaces }: Bounds,
): FleetError | undefined => {
  const { kind, name, namespace } = object;
  if (isClusterScoped(kind)) {
    if (allows(clusterScoped, kind)) return undefined;
    return new FleetError('CLUSTER_SCOPED', `a ${kind} is for the whole cluster`, {
      subject: `${kind} ${name}`,
      at: object.at,
      hint: `Let the platform bring it, or have it allowed: ${ALLOW_CLUSTER_SCOPED}: ${kind} on the WorkloadRegistration`,
    });
  }
  if (namespace === undefined || namespace === own || allows(namespaces, namespace)) return undefined;
  return new FleetError('NAMESPACE_FOREIGN', `the namespace ${namespace} is not its own, which is ${own}`, {
    subject: `${kind} ${name}`,
    at: placeOfField(object, ['metadata', 'namespace']),
    hint: `Leave metadata.namespace out, or have it allowed: ${ALLOW_NAMESPACES}: ${namespace} on the WorkloadRegistration`,
  });
};

const allows = (allowed: readonly string[], one: string): boolean =>
  allowed.includes('*') || allowed.includes(one);
