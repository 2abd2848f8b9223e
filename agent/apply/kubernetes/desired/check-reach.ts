import type { Bounds } from '#bundles/formats/bounds/bounds-of';
import { controlledNamespaces } from '#bundles/formats/bounds/controlled-namespaces';
import type { PackageBounds } from '#bundles/formats/bundle/config';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { nameSome } from '#bundles/name-some';
import type { DesiredPackage, Tenant } from '../../../model/target.ts';
import { inParallel } from '../api/in-parallel.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isNamespace } from './kind-order.ts';
import { typeKey, type Wanted } from './resolve-wanted.ts';
import { isTenantsOwn } from './tenants-own.ts';
import type { WantedObject } from './wanted-object.ts';

/** Limits of this cluster for every package, whatever its bundle says. */
export type Reach = {
  /** The agent's own namespace and the namespace of the workspaces' accounts: a pod there can act as the agent or as another tenant. */
  readonly reserved: ReadonlySet<string>;
  /** Namespaces of the system that the site allows to packages. */
  readonly systemNamespaces: readonly string[];
};

const MAX_NAMED = 5;

/**
 * The objects with the scope that their kinds have on the cluster. A definition in the package may declare another scope and never be applied.
 * @throws FleetError API_*, ABORTED
 */
export const inRealScope = (
  api: KubernetesApi,
  { objects, later }: Wanted,
  signal: AbortSignal,
): Promise<readonly WantedObject[]> =>
  inParallel(objects, async (object) => {
    const type = later.has(typeKey(object)) ? undefined : await api.typeOf(object, signal);
    return type?.namespaced === false ? { ...object, namespace: undefined } : object;
  });

/**
 * Refuses a package with objects outside of its bounds, of the bounds of this cluster, or in namespaces of other workspaces. The scheduler
 * checks most of it before it signs; this check does not depend on it, and knows which kinds of the cluster have a namespace.
 * @throws FleetError OUT_OF_BOUNDS
 */
export const checkReach = (
  reach: Reach | undefined,
  { assignment, bounds = 'platform', tenant }: Pick<DesiredPackage, 'assignment' | 'bounds' | 'tenant'>,
  objects: readonly WantedObject[],
): void => {
  if (!reach) return;
  const found = objects
    .filter(({ policy }) => policy.apply !== 'ignore')
    .flatMap((object) => {
      const why = violation(reach, object, bounds, tenant);
      return why === undefined ? [] : [`${nameOf(object)} ${why} [${object.place}]`];
    });
  if (found.length === 0) return;
  throw new FleetError(
    'OUT_OF_BOUNDS',
    `${assignment} has objects that it may not have on this cluster: ${nameSome(found, MAX_NAMED)}`,
    {
      subject: assignment,
      hint: 'Take them out of the package, or have the platform team allow them on its WorkloadRegistration, and the site its systemNamespaces; nothing was written',
    },
  );
};

/** @returns why the object is refused, as words that follow its name */
const violation = (
  reach: Reach,
  object: WantedObject,
  bounds: Bounds,
  tenant: Tenant | undefined,
): string | undefined => {
  // The same bounds hold for a Namespace as for the objects in it: its labels decide what its pods may do.
  const place = isNamespace(object) ? object.name : object.namespace;
  return (
    ofAgent(reach, object, place) ??
    ofSystem(reach, place) ??
    (typeof bounds === 'object' && bounds.namespaces && isTenantsOwn(object.place)
      ? outOfBounds(bounds, object, place)
      : ofOthers(bounds, tenant, place)) ??
    (tenant && isTenantsOwn(object.place) ? asSystem(object) : undefined)
  );
};

/** Cluster-scoped objects with such names are the agent's: roles, bindings, policies, and definitions of its API group. */
const AGENT_NAME = /^fleet-agent([-.:]|$)|\.fleet-ferry\.internal$/;

const ofAgent = (
  { reserved }: Reach,
  { group, kind, name, namespace, object }: WantedObject,
  place: string | undefined,
): string | undefined => {
  if (place !== undefined && reserved.has(place))
    return `is in the namespace ${place}, which belongs to the agent`;
  if (namespace === undefined && AGENT_NAME.test(name)) return 'belongs to the agent itself';
  if (
    group === RBAC &&
    kind.endsWith('Binding') &&
    subjectsOf(object).some((one) => isReserved(one, reserved))
  )
    return `gives rights to accounts of the namespace ${[...reserved].join(' or ')}, which belongs to the agent`;
  return undefined;
};

const RBAC = 'rbac.authorization.k8s.io';

type Subject = { readonly [field: string]: unknown };

const subjectsOf = ({ subjects }: WantedObject['object']): readonly Subject[] =>
  Array.isArray(subjects) ? subjects.filter(isRecord) : [];

/** Users and groups name accounts, too: system:serviceaccount:<namespace>:<name>, system:serviceaccounts:<namespace>. */
const isReserved = ({ kind, name, namespace }: Subject, reserved: ReadonlySet<string>): boolean => {
  if (kind === 'ServiceAccount') return typeof namespace === 'string' && reserved.has(namespace);
  const [system, accounts, of] = String(name).split(':');
  return system === 'system' && /^serviceaccounts?$/.test(accounts ?? '') && reserved.has(of ?? '');
};

const ofSystem = ({ systemNamespaces }: Reach, place: string | undefined): string | undefined =>
  place?.startsWith('kube-') && !systemNamespaces.includes(place)
    ? `is in the namespace ${place} of the system, which the systemNamespaces of this agent do not list`
    : undefined;

const outOfBounds = (
  { namespaces, clusterScoped }: PackageBounds,
  { group, kind, namespace, object }: WantedObject,
  place: string | undefined,
): string | undefined => {
  if (namespace === undefined && !allows(clusterScoped, kind)) return 'is for the whole cluster';
  if (place !== undefined && !allows(namespaces, place))
    return `is in the namespace ${place}, which is not its own`;
  const controlled = controlledNamespaces(group, kind, object).find(
    (one) => !allows(namespaces, one.namespace),
  );
  return (
    controlled && `has its controller write into the namespace ${controlled.namespace}, which is not its own`
  );
};

/** Also for objects of the platform's templates in a tenant's package, and for bundles from before there were such bounds. */
const ofOthers = (
  bounds: Bounds,
  tenant: Tenant | undefined,
  place: string | undefined,
): string | undefined =>
  place !== undefined &&
  tenant?.foreign.has(place) &&
  !(typeof bounds === 'object' && allows(bounds.namespaces, place))
    ? `is in the namespace ${place} of another workspace`
    : undefined;

const allows = (allowed: readonly string[] | undefined, one: string): boolean =>
  allowed !== undefined && (allowed.includes('*') || allowed.includes(one));

/** The default roles of the cluster for users. */
const SYSTEM_ROLES: ReadonlySet<string> = new Set(['admin', 'cluster-admin', 'edit', 'view']);

/** A tenant that may bring cluster roles may not change those of the system, nor add to what they give. */
const asSystem = ({ group, kind, name, object }: WantedObject): string | undefined => {
  if (group !== RBAC || !kind.startsWith('ClusterRole')) return undefined;
  if (name.startsWith('system:') || SYSTEM_ROLES.has(name)) return 'is a role of the system';
  const adds = Object.keys(object.metadata.labels ?? {}).some((label) =>
    label.startsWith(`${RBAC}/aggregate-to-`),
  );
  return adds ? 'adds rights to roles of the system (its label aggregate-to-...)' : undefined;
};
