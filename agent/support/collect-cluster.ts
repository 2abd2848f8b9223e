import { toFleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { refOf } from '../apply/kubernetes/desired/object-key.ts';
import type { KubernetesApi, LiveObject } from '../apply/kubernetes/api/kubernetes-api.ts';
import { stateOf } from '../apply/kubernetes/owned-state.ts';
import type { OwnedObject } from '../model/target.ts';
import type { Section } from './section.ts';

type Api = Pick<KubernetesApi, 'version' | 'list' | 'read' | 'close'>;

const MAX_NAMESPACES = 50;
const MAX_OBJECTS = 300;
const MAX_ITEMS = 500;
const LIMIT_MS = 60_000;

/** Kinds whose content is never read. */
const PRIVATE: ReadonlySet<string> = new Set(['Secret', 'ConfigMap']);

/**
 * Collects the state of the cluster around the objects of our packages: their conditions, the state of pods and the events in their namespaces. No
 * specification, no data of a Secret or ConfigMap, and no environment of a pod is read into the bundle.
 */
export const collectCluster = async (
  open: () => Promise<Api>,
  owned: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<readonly Section[]> => {
  const within = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const section = (path: string, content: object): Section => ({ path, content, maxBytes: 128 << 10 });
  const asked = async (path: string, work: () => Promise<object>): Promise<Section> => {
    try {
      return section(path, await work());
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = toFleetError(error);
      return section(path, { code, message });
    }
  };
  let api: Api;
  try {
    api = await open();
  } catch (error) {
    const { code, message } = toFleetError(error);
    return [section('cluster/version.json', { code, message })];
  }
  try {
    const refs = owned.map((object) => refOf(object.key, stateOf(object).apiVersion));
    const namespaces = [...new Set(refs.flatMap(({ namespace }) => namespace ?? []))].slice(
      0,
      MAX_NAMESPACES,
    );
    const inEach = async (kind: string, pick: (object: LiveObject) => object): Promise<object> => {
      const all: object[] = [];
      for (const namespace of namespaces) {
        const { items } = await api.list({ apiVersion: 'v1', kind }, { namespace }, within);
        all.push(...items.slice(-MAX_ITEMS).map(pick));
      }
      return all.slice(0, MAX_ITEMS);
    };
    return [
      await asked('cluster/version.json', async () => ({ version: await api.version(within) })),
      await asked('cluster/pods.json', () => inEach('Pod', podState)),
      await asked('cluster/events.json', () => inEach('Event', eventState)),
      await asked('cluster/objects.json', async () => {
        const found: object[] = [];
        for (const ref of refs.filter(({ kind }) => !PRIVATE.has(kind)).slice(0, MAX_OBJECTS)) {
          const live = await api.read(ref, within);
          found.push(live ? objectState(live) : { ...ref, missing: true });
        }
        return found;
      }),
    ];
  } finally {
    await api.close();
  }
};

type Fields = { readonly [field: string]: unknown };
const fields = (value: unknown): Fields => (isRecord(value) ? value : {});
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fields) : []);
const only = (value: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(names.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]])));

const CONDITION = ['type', 'status', 'reason', 'message', 'lastTransitionTime'];

const nameOf = ({ kind, metadata }: LiveObject): Fields => ({
  kind,
  ...only(fields(metadata), [
    'namespace',
    'name',
    'creationTimestamp',
    'deletionTimestamp',
    'finalizers',
    'generation',
  ]),
});

const conditionsOf = (status: Fields): readonly Fields[] =>
  list(status['conditions']).map((condition) => only(condition, CONDITION));

const objectState = (object: LiveObject): Fields => {
  const status = fields(object['status']);
  const counts = Object.entries(status).filter(([, value]) => typeof value === 'number');
  return {
    ...nameOf(object),
    status: { ...Object.fromEntries(counts), phase: status['phase'], conditions: conditionsOf(status) },
  };
};

const podState = (pod: LiveObject): Fields => {
  const status = fields(pod['status']);
  const containers = [...list(status['initContainerStatuses']), ...list(status['containerStatuses'])];
  return {
    ...nameOf(pod),
    node: fields(pod['spec'])['nodeName'],
    ...only(status, ['phase', 'reason', 'message']),
    conditions: conditionsOf(status),
    containers: containers.map((one) =>
      only(one, ['name', 'image', 'ready', 'restartCount', 'state', 'lastState']),
    ),
  };
};

const eventState = (event: LiveObject): Fields => ({
  ...only(event, ['type', 'reason', 'message', 'count', 'firstTimestamp', 'lastTimestamp', 'eventTime']),
  object: only(fields(event['involvedObject']), ['kind', 'namespace', 'name', 'fieldPath']),
});
