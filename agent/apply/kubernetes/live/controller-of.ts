import { isFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { groupOf } from '../desired/object-key.ts';
import { servedRef } from '../api/served-ref.ts';

/** A tool or controller that an object belongs to, by what is written on it. */
export type Controller = {
  /** 'Flux', 'Helm', or the kind of an owner. */
  readonly tool: string;
  /** The label, annotation or field that says so, with its value: 'kustomize.toolkit.fluxcd.io/name: apps'. */
  readonly by: string;
  /** The object by which the tool manages it; it no longer does when that object is gone. undefined: unknown. */
  readonly source?: Pick<ObjectRef, 'apiVersion' | 'kind' | 'name'> & {
    readonly namespace: string | undefined;
  };
};

/**
 * The controller of an object, by owner reference, labels and annotations of Flux, Argo CD, Rancher Fleet, kapp and Helm; the most specific
 * one, because Flux and Rancher Fleet install through Helm. undefined: no controller. A field manager shows that a tool wrote the object once,
 * not that it still manages it, and counts only where other tools use the tool's label as well.
 */
export const controllerOf = (live: LiveObject): Controller | undefined => {
  for (const find of FINDERS) {
    const found = find(live);
    if (found) return found;
  }
  return undefined;
};

type Find = (live: LiveObject) => Controller | undefined;

const byOwnerReference: Find = ({ metadata }) => {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner && { tool: owner.kind, by: `ownerReferences: ${owner.kind} ${owner.name}` };
};

const FLUX = [
  ['kustomize.toolkit.fluxcd.io', 'Kustomization', 'v1'],
  ['helm.toolkit.fluxcd.io', 'HelmRelease', 'v2'],
] as const;

const byFlux: Find = ({ metadata: { labels = {} } }) => {
  for (const [group, kind, version] of FLUX) {
    const [name, namespace] = [labels[`${group}/name`], labels[`${group}/namespace`]];
    if (name === undefined) continue;
    const source = { apiVersion: `${group}/${version}`, kind, name, namespace };
    return { tool: 'Flux', by: `${group}/name: ${name}`, source };
  }
  return undefined;
};

const TRACKING = 'argocd.argoproj.io/tracking-id';

const byArgoCd: Find = (live) => {
  const { labels = {}, annotations = {}, managedFields = [] } = live.metadata;
  const id = annotations[TRACKING];
  if (id !== undefined && isOwnTracking(live, id)) return argoCd(TRACKING, id.slice(0, id.indexOf(':')));
  const own = labels['argocd.argoproj.io/instance'];
  if (own !== undefined) return argoCd('argocd.argoproj.io/instance', own);
  // Many charts set this label as well; Argo CD tracks by it where it writes the object.
  const instance = labels['app.kubernetes.io/instance'];
  const isWriter = managedFields.some(({ manager = '' }) => /^argocd($|-)/.test(manager));
  return instance !== undefined && isWriter ? argoCd('app.kubernetes.io/instance', instance) : undefined;
};

/** 'app:group/Kind:namespace/name'. Operators copy annotations to what they make, and a copied one names another object. */
const isOwnTracking = ({ apiVersion, kind, metadata }: LiveObject, id: string): boolean => {
  // Names of roles may have colons.
  const [, type, namespace = '', name] = /^[^:]*:([^:]*):([^/]*)\/(.*)$/.exec(id) ?? [];
  const isPlace = namespace === (metadata.namespace ?? '') || metadata.namespace === undefined;
  return type === `${groupOf(apiVersion)}/${kind}` && name === metadata.name && isPlace;
};

/** An Application outside of Argo CD's own namespace is written as namespace_name. */
const argoCd = (key: string, app: string): Controller => {
  const [first = '', second] = app.split('_');
  const [namespace, name] = second === undefined ? [undefined, first] : [first, second];
  const source = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', name, namespace };
  return { tool: 'Argo CD', by: `${key}: ${app}`, source };
};

const byWrangler: Find = ({ metadata: { annotations = {} } }) => {
  const id = annotations['objectset.rio.cattle.io/id'];
  if (id === undefined) return undefined;
  const isAddon = annotations['objectset.rio.cattle.io/owner-gvk']?.endsWith('Kind=Addon') === true;
  return { tool: isAddon ? 'k3s' : 'Rancher Fleet', by: `objectset.rio.cattle.io/id: ${id}` };
};

const byKapp: Find = ({ metadata: { labels = {} } }) => {
  const app = labels['kapp.k14s.io/app'];
  return app === undefined ? undefined : { tool: 'kapp', by: `kapp.k14s.io/app: ${app}` };
};

const byHelm: Find = ({ metadata: { annotations = {}, managedFields = [] } }) => {
  const release = annotations['meta.helm.sh/release-name'];
  if (release === undefined) return undefined;
  const isFleet = managedFields.some(({ manager }) => manager === 'fleetagent');
  return { tool: isFleet ? 'Rancher Fleet' : 'Helm', by: `meta.helm.sh/release-name: ${release}` };
};

const FINDERS: readonly Find[] = [byFlux, byArgoCd, byWrangler, byKapp, byHelm, byOwnerReference];

/** 'Argo CD (argocd.argoproj.io/instance: shop)' */
export const describeController = ({ tool, by }: Controller): string => `${tool} (${by})`;

/** The version of a list whose kind the server no longer has. */
const UNKNOWN_KIND = '0';

/**
 * Whether the controller still manages the object: false if this cluster has the kind of object by which it does, and that object is gone. One
 * that the agent may not read counts as there. @throws FleetError API_*, ABORTED
 */
export const isLive = async (
  api: KubernetesApi,
  { source }: Controller,
  signal: AbortSignal,
): Promise<boolean> => {
  if (!source) return true;
  const ref = await servedRef(api, source, signal);
  // The tool may run on another cluster.
  if (!ref) return true;
  const { name, namespace } = source;
  try {
    if (namespace !== undefined) return (await api.read(ref, signal)) !== undefined;
    const options = { fieldSelector: `metadata.name=${name}`, metadataOnly: true };
    const { items, resourceVersion } = await api.list(ref, options, signal);
    return items.length > 0 || resourceVersion === UNKNOWN_KIND;
  } catch (error) {
    if (!isFleetError(error, 'API_DENIED')) throw error;
    return true;
  }
};
