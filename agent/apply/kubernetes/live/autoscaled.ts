import { isFleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { groupOf } from '../desired/object-key.ts';
import { stableHash, stableText } from '#bundles/json/stable-hash';
import type { WantedObject } from '../desired/wanted-object.ts';
import { inParallel } from '../api/in-parallel.ts';
import { isOwnEntry } from './fingerprint.ts';
import { isByHand } from './foreign-managers.ts';

const AUTOSCALER = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' } as const;

/** True if a controller, and no person, has set the replicas by the scale subresource. */
export const isScaled = ({ metadata }: LiveObject): boolean =>
  (metadata.managedFields ?? []).some(
    ({ subresource, manager, fieldsV1 }) =>
      subresource === 'scale' &&
      !isByHand(manager === undefined ? {} : { manager }) &&
      isRecord(fieldsV1?.['f:spec']) &&
      'f:replicas' in fieldsV1['f:spec'],
  );

/** The workloads whose replicas an autoscaler sets or shall set, by key. */
export type Autoscaled = {
  /** Workloads that an autoscaler has scaled: replicas of the package are left out. */
  readonly scaled: ReadonlySet<string>;
  /**
   * Workloads that a package hands to an autoscaler that has not scaled them yet: the live count -> its key. It is kept, because server-side
   * apply resets a field that leaves the manifest to its default.
   */
  readonly handed: ReadonlyMap<string, number>;
};

type Compared = {
  readonly live: ReadonlyMap<string, LiveObject>;
  readonly wanted: readonly WantedObject[];
  /** Managers whose fields are taken over with an object; absent: none. */
  readonly deployersIn?: (live: LiveObject) => readonly string[];
};

/**
 * Finds the workloads whose replicas a HorizontalPodAutoscaler sets or shall set, of this package or of anybody (checklist S6). Asks only
 * about objects that a controller has scaled, and about those whose replicas leave the package. One that the agent may not ask about
 * counts as autoscaled.
 * @throws FleetError API_*, ABORTED
 */
export const readAutoscaled = async (
  api: KubernetesApi,
  { live, wanted, deployersIn = () => [] }: Compared,
  signal: AbortSignal,
): Promise<Autoscaled> => {
  const scaled = [...live].filter(([, object]) => isScaled(object));
  const leaving = wanted.flatMap((object) => {
    const before = live.get(object.key);
    const count =
      before && !isScaled(before) ? replicasLeaving(before, object, deployersIn(before)) : undefined;
    return before && count !== undefined ? [[object.key, before, count] as const] : [];
  });
  const asked = [...scaled.map(([, object]) => object), ...leaving.map(([, object]) => object)];
  const namespaces = [...new Set(asked.map(({ metadata }) => metadata.namespace ?? ''))];
  const targets = new Map(
    await inParallel(
      namespaces,
      async (namespace) => [namespace, await targetsIn(api, namespace, signal)] as const,
    ),
  );
  const own = new Set(wanted.flatMap(({ object, namespace = '' }) => ownTargets(object, namespace)));
  const isTarget = (object: LiveObject): boolean => {
    const { name, namespace = '' } = object.metadata;
    return targets.get(namespace)?.has(targetKey(object, name)) ?? true;
  };
  return {
    scaled: new Set(scaled.filter(([, object]) => isTarget(object)).map(([key]) => key)),
    handed: new Map(
      leaving
        .filter(([, { apiVersion, kind, metadata }]) => {
          const { name, namespace = '' } = metadata;
          const found = targets.get(namespace)?.has(targetKey({ apiVersion, kind }, name)) === true;
          return found || own.has(`${namespace} ${targetKey({ apiVersion, kind }, name)}`);
        })
        .map(([key, , count]) => [key, count]),
    ),
  };
};

/** The live replicas that we wrote, or what deployed the object before us, and the package does not have. */
const replicasLeaving = (
  live: LiveObject,
  { object }: WantedObject,
  deployers: readonly string[],
): number | undefined => {
  const [before, after] = [live['spec'], object['spec']];
  if (!isRecord(before) || typeof before['replicas'] !== 'number') return undefined;
  if (!isRecord(after) || 'replicas' in after) return undefined;
  const isOwn = (live.metadata.managedFields ?? []).some((entry) => {
    const isTaken = isOwnEntry(entry) || (!entry.subresource && deployers.includes(entry.manager ?? ''));
    const spec = isTaken ? entry.fieldsV1?.['f:spec'] : undefined;
    return isRecord(spec) && 'f:replicas' in spec;
  });
  return isOwn ? before['replicas'] : undefined;
};

/** Targets of the package's autoscalers, also those that create a HorizontalPodAutoscaler (KEDA's ScaledObject). */
const ownTargets = ({ spec }: LiveObject, namespace: string): readonly string[] =>
  isRecord(spec) && isRecord(spec['scaleTargetRef'])
    ? targetOf({ apiVersion: 'apps/v1', kind: 'Deployment', ...spec['scaleTargetRef'] }).map(
        (key) => `${namespace} ${key}`,
      )
    : [];

/** undefined: the account may not list autoscalers. */
const targetsIn = async (
  api: KubernetesApi,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> => {
  try {
    const { items } = await api.list(AUTOSCALER, { namespace }, signal);
    return new Set(items.flatMap(({ spec }) => (isRecord(spec) ? targetOf(spec['scaleTargetRef']) : [])));
  } catch (error) {
    if (!isFleetError(error, 'API_DENIED')) throw error;
    return undefined;
  }
};

const targetOf = (ref: unknown): readonly string[] => {
  if (!isRecord(ref)) return [];
  const { apiVersion = '', kind, name } = ref as { apiVersion?: string; kind: string; name: string };
  return [targetKey({ apiVersion, kind }, name)];
};

const targetKey = ({ apiVersion, kind }: Pick<LiveObject, 'apiVersion' | 'kind'>, name: string): string =>
  `${groupOf(apiVersion)} ${kind} ${name}`;

/** The object to apply: without replicas that an autoscaler has set, with those that it will set. */
export const asAutoscaled = (wanted: WantedObject, { scaled, handed }: Autoscaled): WantedObject => {
  const count = handed.get(wanted.key);
  if (count !== undefined) return withReplicas(wanted, count);
  return scaled.has(wanted.key) ? withoutReplicas(wanted) : wanted;
};

/** Its hash stays that of the package's object. */
export const withReplicas = (wanted: WantedObject, replicas: number): WantedObject => {
  const spec = isRecord(wanted.object['spec']) ? wanted.object['spec'] : {};
  return { ...wanted, object: { ...wanted.object, spec: { ...spec, replicas } } };
};

/** The object without replicas, which stay as the autoscaler has set them. */
export const withoutReplicas = (wanted: WantedObject): WantedObject => {
  const { spec } = wanted.object;
  if (!isRecord(spec) || !('replicas' in spec)) return wanted;
  const { replicas: _, ...rest } = spec;
  const object: LiveObject = { ...wanted.object, spec: rest };
  return { ...wanted, object, hash: wanted.secret ? wanted.secret(stableText(object)) : stableHash(object) };
};
