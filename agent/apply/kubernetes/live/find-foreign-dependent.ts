import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { apiVersionOf } from '../api/discover.ts';
import type { KubernetesApi, LiveObject, ResourceType } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isOwner, type Owner } from '../desired/marks.ts';
import { isRecord } from '#bundles/is-record';
import { isDefinition } from '../desired/resolve-wanted.ts';
import { inParallel } from '../api/in-parallel.ts';

const MAX_HIDDEN = 4;

/** Kinds that controllers create in every namespace, or derive from other objects. */
const FOLLOWERS = new Set(['Event', 'Endpoints', 'EndpointSlice', 'Lease', 'ControllerRevision']);

/**
 * Returns the name of an object of another owner that the deletion of a namespace or CRD would delete as well (checklist I5), or
 * undefined. Kinds that the account may not list might have such an object. @throws FleetError API_*, ABORTED
 */
export const findForeignDependent = async (
  api: KubernetesApi,
  holder: LiveObject,
  owner: Owner,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const places = await placesIn(api, holder, signal);
  const hidden: string[] = [];
  const found = await inParallel(places, async (type) => {
    const place = defined({
      metadataOnly: true,
      namespace: holder.kind === 'Namespace' ? holder.metadata.name : undefined,
    });
    try {
      const ref = { apiVersion: apiVersionOf(type), kind: type.kind };
      return (await api.list(ref, place, signal)).items.find((item) => isForeign(item, owner));
    } catch (error) {
      if (!isFleetError(error, 'API_DENIED')) throw error;
      hidden.push(type.plural);
      return undefined;
    }
  });
  const foreign = found.find((item) => item !== undefined);
  if (!foreign && hidden.length > 0)
    return `perhaps objects that the agent's account may not list (${nameSome(hidden.toSorted(compareBytes), MAX_HIDDEN)})`;
  return (
    foreign && nameOf({ ...foreign, name: foreign.metadata.name, namespace: foreign.metadata.namespace })
  );
};

const placesIn = async (
  api: KubernetesApi,
  holder: LiveObject,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> => {
  const types = await api.types(signal);
  const usable = types.filter(
    ({ verbs, kind }) => verbs.includes('list') && verbs.includes('delete') && !FOLLOWERS.has(kind),
  );
  if (holder.kind === 'Namespace') return oncePerKind(usable.filter(({ namespaced }) => namespaced));
  if (!isDefinition(holder) || !isRecord(holder['spec'])) return [];
  const { group, names } = holder['spec'] as { group?: unknown; names?: { kind?: unknown } };
  return oncePerKind(usable.filter((type) => type.group === group && type.kind === names?.kind));
};

/** Keeps one version of each kind, because the objects are the same in all. */
const oncePerKind = (types: readonly ResourceType[]): readonly ResourceType[] => [
  ...new Map(types.toReversed().map((type) => [`${type.group}/${type.kind}`, type])).values(),
];

const isForeign = (item: LiveObject, owner: Owner): boolean => {
  const { name, ownerReferences = [] } = item.metadata;
  if (ownerReferences.length > 0 || isOwner(item, owner)) return false;
  if (item.kind === 'ServiceAccount' && name === 'default') return false;
  return !(item.kind === 'ConfigMap' && name === 'kube-root-ca.crt');
};
