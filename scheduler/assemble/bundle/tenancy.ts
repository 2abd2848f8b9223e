import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { controlledNamespaces, hasController } from '#bundles/formats/bounds/controlled-namespaces';
import { type TenantBounds, tenantBounds } from '#bundles/formats/bounds/package-bounds';
import type { PackageBounds } from '#bundles/formats/bundle/config';
import { ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES, type Bounds } from '../../model/bounds.ts';
import {
  isClusterScoped,
  type KubernetesObject,
  placeOfField,
} from '../../model/kubernetes/kubernetes-object.ts';
import type { DeploymentTarget } from '../../model/model.ts';

/** Names that the objects of a package may use. */
export type ObjectBounds = Bounds & Pick<Required<PackageBounds>, 'secretSets'>;

/** No bounds: for rendered files and for workloads in the platform repository. */
export const UNBOUNDED: ObjectBounds = { clusterScoped: ['*'], namespaces: ['*'], secretSets: ['*'] };

/**
 * Host names and secret sets that a package of a registered application may use; undefined for a workload in the platform
 * repository. Based only on names that the platform chose, not on the workload's name, which its author chooses.
 */
export const packageBoundsOf = (target: DeploymentTarget): TenantBounds | undefined => {
  if (target.registration === undefined) return undefined;
  const found =
    known.get(target) ??
    tenantBounds([target.registration, target.workspace], target.name, target.grants, target.packageSeconds);
  known.set(target, found);
  return found;
};

/** Cached for each target, which may have packages on many cluster types. */
const known = new WeakMap<DeploymentTarget, TenantBounds>();

/**
 * A registered application is a tenant: it may use only its own namespace and the names that its registration allows
 * (docs/decisions/0018-tenants-stay-inside.md). Authors of workloads in the platform repository have no bounds.
 */
export const boundsOf = (target: DeploymentTarget): ObjectBounds => {
  const own = packageBoundsOf(target);
  return own
    ? { ...(target.bounds ?? { clusterScoped: [], namespaces: [] }), secretSets: own.secretSets }
    : UNBOUNDED;
};

/**
 * Bounds of a package of a cluster, which agents check again.
 * @param namespace of the assignment
 * @param platforms secret sets that templates of the platform name in it
 */
export const kubernetesBoundsOf = (
  target: DeploymentTarget,
  namespace: string,
  platforms: readonly string[],
): PackageBounds | undefined => {
  const own = packageBoundsOf(target);
  if (!own) return undefined;
  const sets = platforms.length === 0 ? own.secretSets : sorted([...own.secretSets, ...platforms]);
  const { siteInputs = [], siteConfig = false, siteValues = [] } = target;
  // The names that it reads are allowed by now; grants beyond them would change bundles that do not use them.
  const values = sorted([...siteInputs.map(({ name }) => name), ...(siteConfig ? siteValues : [])]);
  const { clusterScoped = [], namespaces = [] } = target.bounds ?? {};
  return defined({
    clusterScoped: clusterScoped.length > 0 ? sorted(clusterScoped) : undefined,
    namespaces: sorted([namespace, ...namespaces]),
    secretSets: sets,
    siteValues: siteInputs.length > 0 || siteConfig ? values : undefined,
  });
};

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted(compareBytes);

/** Part of a cache key that differs for different bounds. */
export const boundsKey = ({ clusterScoped, namespaces, secretSets }: ObjectBounds): string =>
  `${clusterScoped.join(',')};${namespaces.join(',')};${secretSets.join(',')}`;

/** Error of an object outside of the bounds of its tenant: NAMESPACE_FOREIGN, CLUSTER_SCOPED; undefined if there is none. */
export const findViolation = (
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
  if (namespace !== undefined && namespace !== own && !allows(namespaces, namespace))
    return new FleetError('NAMESPACE_FOREIGN', `the namespace ${namespace} is not its own, which is ${own}`, {
      subject: `${kind} ${name}`,
      at: placeOfField(object, ['metadata', 'namespace']),
      hint: `Leave metadata.namespace out, or have it allowed: ${ALLOW_NAMESPACES}: ${namespace} on the WorkloadRegistration`,
    });
  return findControlled(object, own, namespaces);
};

/**
 * Judges the namespaces that an object names for its controller, such as the targetNamespace of a HelmRelease. The controller writes there
 * with its own rights, so the cluster does not refuse it.
 * @returns NAMESPACE_FOREIGN for the first namespace that the workspace may not use; undefined without one
 */
const findControlled = (
  object: KubernetesObject,
  own: string,
  namespaces: Bounds['namespaces'],
): FleetError | undefined => {
  const { apiVersion, kind, name, parsed } = object;
  const group = apiVersion.split('/')[0] ?? '';
  if (!hasController(group, kind)) return undefined;
  const foreign = controlledNamespaces(group, kind, parsed.document.toJS()).find(
    ({ namespace }) => namespace !== own && !allows(namespaces, namespace),
  );
  if (!foreign) return undefined;
  const { path, namespace } = foreign;
  return new FleetError(
    'NAMESPACE_FOREIGN',
    `its controller would write into the namespace ${namespace}, which is not its own, ${own}`,
    {
      subject: `${kind} ${name}`,
      at: placeOfField(object, path),
      hint: `Write ${own} as ${path.join('.')}, or have it allowed: ${ALLOW_NAMESPACES}: ${namespace} on the WorkloadRegistration`,
    },
  );
};

const allows = (allowed: readonly string[], one: string): boolean =>
  allowed.includes('*') || allowed.includes(one);
