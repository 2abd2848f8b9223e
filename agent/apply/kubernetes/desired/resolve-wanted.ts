import { isFleetError } from '#bundles/errors';
import type { DesiredPackage } from '../../../model/target.ts';
import type { KubernetesApi, ResourceType, TypeRef } from '../api/kubernetes-api.ts';
import { isRecord } from '#bundles/is-record';
import { isBuiltIn } from './is-built-in.ts';
import { bringsKind } from './brings-kind.ts';
import { groupOf } from './object-key.ts';
import { type Manifest, readManifests, toWanted, unknownKinds } from './read-wanted.ts';
import type { WantedObject } from './wanted-object.ts';

/** The objects of a package and the kinds that its own CRDs define. */
export type Wanted = {
  readonly objects: readonly WantedObject[];
  readonly byKey: ReadonlyMap<string, WantedObject>;
  /** 'apiVersion kind' -> key of the CRD in the package that defines it. */
  readonly definedBy: ReadonlyMap<string, string>;
  /** 'apiVersion kind' of kinds that the cluster lacks, and that a controller or API service brings which this package configures. */
  readonly later: ReadonlySet<string>;
};

export const typeKey = ({ apiVersion, kind }: TypeRef): string => `${apiVersion} ${kind}`;

const known = new WeakMap<DesiredPackage, Promise<Wanted>>();

/**
 * Returns a package's objects with their keys. The cluster, or a CRD of the package, tells which kinds are namespaced.
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID, OBJECT_CLASH, SITE_VALUES, API_*
 */
export const resolveWanted = (
  api: KubernetesApi,
  fleet: string,
  desired: DesiredPackage,
  signal: AbortSignal,
): Promise<Wanted> => {
  const before = known.get(desired);
  if (before) return before;
  const wanted = resolve(api, fleet, desired, signal);
  known.set(desired, wanted);
  // Failures are not cached: a kind may be installed meanwhile, or the server answer again.
  wanted.catch(() => known.delete(desired));
  return wanted;
};

const resolve = async (
  api: KubernetesApi,
  fleet: string,
  desired: DesiredPackage,
  signal: AbortSignal,
): Promise<Wanted> => {
  const manifests = readManifests(desired);
  const definitions = manifests.filter(isDefinition).flatMap(definedTypes);
  const scopes = new Map(definitions.map(({ type, scope }) => [type, scope]));
  const later = new Set<string>();
  const plain = new Set(definitions.filter(({ hasStatus }) => !hasStatus).map(({ type }) => type));
  for (const manifest of manifests) {
    const key = typeKey(manifest);
    if (scopes.has(key)) continue;
    const isBrought = bringsKind(manifests, manifest);
    const type = await api.typeOf(manifest, signal).catch((error: unknown) => {
      if (!isBrought || !isFleetError(error, 'API_FAILED')) throw error;
      return undefined;
    });
    if (!type && isBrought) {
      later.add(key);
      scopes.set(key, manifest.namespace === undefined ? 'Cluster' : 'Namespaced');
      continue;
    }
    scopes.set(key, type && (type.namespaced ? 'Namespaced' : 'Cluster'));
    if (type && !type.hasStatusSubresource && !isBuiltIn(type.group)) plain.add(key);
  }
  const unknown = manifests.filter((manifest) => scopes.get(typeKey(manifest)) === undefined);
  if (unknown.length > 0) throw unknownKinds(unknown, servedAs(await api.types(signal)));
  const owner = { fleet, assignment: desired.assignment };
  const objects = toWanted(
    manifests,
    (type) => scopes.get(typeKey(type)),
    owner,
    (type) => plain.has(typeKey(type)),
    desired.objectRules,
  );
  const crds = new Map(objects.filter(isDefinition).map(({ name, key }) => [name, key]));
  return {
    objects,
    byKey: new Map(objects.map((object) => [object.key, object])),
    later,
    definedBy: new Map(definitions.map(({ type, crd }) => [type, crds.get(crd) ?? ''])),
  };
};

/** A version of the same group, or of another built-in one for a kind that has moved. */
const servedAs =
  (types: readonly ResourceType[]) =>
  ({ apiVersion, kind }: TypeRef): string | undefined => {
    const group = groupOf(apiVersion);
    const same = types.filter((type) => type.kind === kind);
    const found =
      same.find((type) => type.group === group) ??
      (isBuiltIn(group) ? same.find((type) => isBuiltIn(type.group)) : undefined);
    if (!found) return undefined;
    return found.group === '' ? found.version : `${found.group}/${found.version}`;
  };

export const isDefinition = ({ kind, apiVersion }: TypeRef): boolean =>
  kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/');

type Definition = {
  readonly type: string;
  readonly scope: 'Namespaced' | 'Cluster' | undefined;
  /** True if the version has the status subresource. */
  readonly hasStatus: boolean;
  readonly crd: string;
};

/** The types that a CRD defines, one for each version. */
const definedTypes = ({ fields, name }: Manifest): readonly Definition[] => {
  const spec = isRecord(fields['spec']) ? fields['spec'] : {};
  const names = isRecord(spec['names']) ? spec['names'] : {};
  const versions = Array.isArray(spec['versions']) ? spec['versions'].filter(isRecord) : [];
  const scope = spec['scope'] === 'Cluster' ? 'Cluster' : 'Namespaced';
  return versions.map((version) => ({
    type: typeKey({
      apiVersion: `${String(spec['group'])}/${String(version['name'])}`,
      kind: String(names['kind']),
    }),
    scope,
    hasStatus: isRecord(version['subresources']) && isRecord(version['subresources']['status']),
    crd: name,
  }));
};
