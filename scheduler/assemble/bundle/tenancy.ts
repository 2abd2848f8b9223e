import { tenantBounds } from '#bundles/formats/bounds/package-bounds';
import type { PackageBounds } from '#bundles/formats/bundle/config';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { DeploymentTarget } from '../../model/model.ts';
import { ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES, type Bounds } from '../../model/bounds.ts';
import {
  isClusterScoped,
  type KubernetesObject,
  placeOfField,
} from '../../model/kubernetes/kubernetes-object.ts';

/** What the objects of a package may name. */
export type ObjectBounds = Bounds & Pick<Required<PackageBounds>, 'secretSets'>;

/** The platform's own: rendered files, and workloads that stand in the platform itself. */
export const UNBOUND: ObjectBounds = { clusterScoped: ['*'], namespaces: ['*'], secretSets: ['*'] };

/**
 * What a package of a registered application may name on a host, and which secret sets; undefined for a workload that stands
 * in the platform itself. Only names that the platform chose count: of a workload, its author says the name.
 */
export const packageBoundsOf = (target: DeploymentTarget): TenantBounds | undefined => {
  if (target.registration === undefined) return undefined;
  const found =
    known.get(target) ?? tenantBounds([target.registration, target.workspace], target.name, target.grants);
  known.set(target, found);
  return found;
};

type TenantBounds = Required<Omit<PackageBounds, 'platform'>>;

/** A target has packages on a hundred cluster types. */
const known = new WeakMap<DeploymentTarget, TenantBounds>();

/**
 * A registered application is a tenant: only its own namespace, and what the platform's registration allows it
 * (docs/decisions/0018-tenants-stay-inside.md). A workload that stands in the platform was written by who may do all.
 */
export const boundsOf = (target: DeploymentTarget): ObjectBounds => {
  const own = packageBoundsOf(target);
  return own
    ? { ...(target.bounds ?? { clusterScoped: [], namespaces: [] }), secretSets: own.secretSets }
    : UNBOUND;
};

/** What a package of a cluster may name. @param platforms sets that the platform's templates name in it */
export const kubernetesBoundsOf = (
  target: DeploymentTarget,
  platforms: readonly string[],
): PackageBounds | undefined => {
  const own = packageBoundsOf(target);
  if (!own || platforms.length === 0) return own && { secretSets: own.secretSets };
  return { secretSets: [...new Set([...own.secretSets, ...platforms])].toSorted(compareBytes) };
};

/** Tells apart what was judged under other bounds. */
export const boundsKey = ({ clusterScoped, namespaces, secretSets }: ObjectBounds): string =>
  `${clusterScoped.join(',')};${namespaces.join(',')};${secretSets.join(',')}`;

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
