import { isFleetError } from '#bundles/errors';
import { isRecord } from '../../../model/parse-manifests.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { groupOf } from '../desired/object-key.ts';
import { stableHash, stableText } from '../desired/stable-hash.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { inParallel } from '../in-parallel.ts';
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

/**
 * Keys of the objects whose replicas a HorizontalPodAutoscaler sets, of this package or of anybody (checklist S6). Asks only about
 * objects that a controller has scaled. One that the agent may not ask about counts as autoscaled.
 * @throws FleetError API_*, ABORTED
 */
export const readAutoscaled = async (
  api: KubernetesApi,
  live: ReadonlyMap<string, LiveObject>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const scaled = [...live].filter(([, object]) => isScaled(object));
  const namespaces = [...new Set(scaled.map(([, { metadata }]) => metadata.namespace ?? ''))];
  const targets = new Map(
    await inParallel(
      namespaces,
      async (namespace) => [namespace, await targetsIn(api, namespace, signal)] as const,
    ),
  );
  return new Set(
    scaled
      .filter(
        ([, object]) =>
          targets.get(object.metadata.namespace ?? '')?.has(targetKey(object, object.metadata.name)) ?? true,
      )
      .map(([key]) => key),
  );
};

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

/** The object without replicas, which stay as the autoscaler has set them. */
export const withoutReplicas = (wanted: WantedObject): WantedObject => {
  const { spec } = wanted.object;
  if (!isRecord(spec) || !('replicas' in spec)) return wanted;
  const { replicas: _, ...rest } = spec;
  const object: LiveObject = { ...wanted.object, spec: rest };
  return { ...wanted, object, hash: wanted.secret ? wanted.secret(stableText(object)) : stableHash(object) };
};
