import { FleetError } from '#bundles/errors';
import type { DesiredPackage, OwnedObject, Tenant } from '../../model/target.ts';
import type { KubernetesApi, ObjectRef, TypeRef } from './api/kubernetes-api.ts';
import { groupOf, keyOf } from './desired/object-key.ts';
import { readManifests } from './desired/read-wanted.ts';
import { isTenantsOwn } from './desired/tenants-own.ts';
import { stateOf } from './owned-state.ts';

const ACCOUNT = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The user whose rights bound the manifests of a workspace: its service account in the namespace of such accounts.
 * @throws FleetError OUT_OF_BOUNDS for a workspace whose name no account can have
 */
export const accountOf = (namespace: string, { workspace }: Pick<Tenant, 'workspace'>): string => {
  if (ACCOUNT.test(workspace)) return `system:serviceaccount:${namespace}:${workspace}`;
  throw new FleetError(
    'OUT_OF_BOUNDS',
    `no service account can have the name of the workspace ${JSON.stringify(workspace)}`,
    {
      hint: 'Name the workspace in lower-case letters, digits and hyphens, at most 63 characters',
    },
  );
};

export type Accounts = {
  /** The account for objects that the package does not list: its pods, events and autoscalers. undefined: the agent's own. */
  readonly user: string | undefined;
  /** The account for an object of the package; undefined: the agent's own. */
  readonly of: (key: string) => string | undefined;
  /** Places in which the agent's own account applies objects: `apiGroup/Kind/namespace`. */
  readonly agents: () => ReadonlySet<string>;
};

/**
 * Accounts of the objects of a package: the agent's own for what the platform's templates brought, the workspace's for the manifests
 * of a tenant.
 * @param namespace of the accounts; undefined: the agent acts by its own account alone
 * @param owned its inventory; a package that is removed is known by it alone
 */
export const accountsOf = (
  namespace: string | undefined,
  desired: DesiredPackage | undefined,
  owned: readonly OwnedObject[],
): Accounts | undefined => {
  if (namespace === undefined) return undefined;
  const recorded = new Map(
    owned.flatMap((one) => (stateOf(one).by === undefined ? [] : [[one.key, stateOf(one).by] as const])),
  );
  const last = [...recorded.values()].find((by) => by !== '');
  const user = desired ? desired.tenant && accountOf(namespace, desired.tenant) : last;
  if (user === undefined) return undefined;
  let read: ReadonlyMap<string, boolean> | undefined;
  const wanted = (): ReadonlyMap<string, boolean> => (read ??= desired ? readPlaces(desired) : new Map());
  // The inventory counts only for objects that have left the package: a manifest never inherits the agent's rights from an object of a template.
  const isAgents = (key: string): boolean => {
    const isOwn = wanted().get(key);
    return isOwn === undefined ? recorded.get(key) === '' : !isOwn;
  };
  return {
    user,
    of: (key) => (isAgents(key) ? undefined : user),
    agents: () => new Set([...recorded.keys(), ...wanted().keys()].filter(isAgents).map(placeOf)),
  };
};

/** The account of an object as its inventory record names it (OwnedState). */
export const recordedAccounts =
  (accounts: Accounts | undefined) =>
  (key: string): string | undefined =>
    accounts && (accounts.of(key) ?? '');

/** Key, with and without its namespace because the kind may have none, to whether the object is the tenant's own. */
const readPlaces = (desired: DesiredPackage): ReadonlyMap<string, boolean> => {
  const places = new Map<string, boolean>();
  for (const { apiVersion, kind, name, namespace, place } of readManifests(desired))
    for (const at of [namespace, undefined]) {
      const key = keyOf({ apiVersion, kind, name, namespace: at });
      places.set(key, places.get(key) === true || isTenantsOwn(place));
    }
  return places;
};

/** 'apps/Deployment/shop/web' -> 'apps/Deployment/shop' */
const placeOf = (key: string): string => key.split('/').slice(0, 3).join('/');

/** Sends each request about an object of a package by the account that the object belongs to. Discovery is the agent's own. */
export const throughAccounts = (api: KubernetesApi, accounts: Accounts | undefined): KubernetesApi => {
  if (!accounts) return api;
  const { user, of, agents } = accounts;
  const as = (who: string | undefined): KubernetesApi => (who === undefined ? api : api.as(who));
  const at = (ref: ObjectRef): KubernetesApi => as(of(keyOf(ref)));
  const inPlace = ({ apiVersion, kind }: TypeRef, namespace = ''): KubernetesApi =>
    agents().has(`${groupOf(apiVersion)}/${kind}/${namespace}`) ? api : as(user);
  const refTo = ({ apiVersion, kind, metadata }: Parameters<KubernetesApi['create']>[0]): ObjectRef => ({
    apiVersion,
    kind,
    ...metadata,
  });
  return {
    ...api,
    read: (ref, signal) => at(ref).read(ref, signal),
    list: (type, options, signal) => inPlace(type, options.namespace).list(type, options, signal),
    watch: (type, options, signal) => inPlace(type, options.namespace).watch(type, options, signal),
    apply: (object, options, signal) => at(refTo(object)).apply(object, options, signal),
    create: (object, signal, options) => at(refTo(object)).create(object, signal, options),
    replace: (object, signal) => at(refTo(object)).replace(object, signal),
    patch: (ref, operations, signal, options) => at(ref).patch(ref, operations, signal, options),
    remove: (ref, options, signal) => at(ref).remove(ref, options, signal),
  };
};
