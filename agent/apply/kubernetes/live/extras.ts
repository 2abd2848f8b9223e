import { isFleetError } from '#bundles/errors';
import type { Drift } from '../../../model/target.ts';
import { isRecord } from '#bundles/is-record';
import type { KubernetesApi, LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import { hashText, stableText } from '#bundles/json/stable-hash';
import type { WantedObject } from '../desired/wanted-object.ts';
import { type Addition, additionsOf } from './additions.ts';
import { isReported } from './deploy-tools.ts';
import { formatFields } from './differences.ts';
import { type FieldSet, isSameItem, memberOf, pathsOf, segmentOf } from './field-set.ts';

/** Additions that are not drift: labels, annotations, and kubectl's own annotations in a pod template. */
const NOTES = /^metadata\.|\.annotations\.kubectl\.kubernetes\.io\//;

/** Verdicts by object and version, so that a look at an unchanged cluster asks nothing; the oldest goes first. */
const judged = new WeakMap<KubernetesApi, Map<string, Drift | undefined>>();
const MAX_JUDGED = 5000;

/**
 * Fields that people or other deployment tools have beside the package's: drift that stays. A client that writes a whole object owns the
 * server's defaults in it as well; they are left out, by a dry run of a new object.
 * @param before managers of what deployed the object before us @throws FleetError API_*, ABORTED
 */
export const extrasOf = async (
  api: KubernetesApi,
  wanted: WantedObject,
  live: LiveObject,
  before: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Drift | undefined> => {
  const known = judged.get(api) ?? new Map<string, Drift | undefined>();
  judged.set(api, known);
  const { uid, generation, resourceVersion, managedFields = [] } = live.metadata;
  const theirs = managedFields.filter((entry) => isReported(entry, before));
  // A write to the status changes the resourceVersion alone.
  const version = hashText(stableText([wanted.key, wanted.hash, uid, generation ?? resourceVersion, theirs]));
  if (known.has(version)) return known.get(version);
  const drift = await judgeExtras(api, wanted, live, before, signal);
  known.set(version, drift);
  const [oldest] = known.keys();
  if (known.size > MAX_JUDGED && oldest !== undefined) known.delete(oldest);
  return drift;
};

const judgeExtras = async (
  api: KubernetesApi,
  wanted: WantedObject,
  live: LiveObject,
  before: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Drift | undefined> => {
  const added = await additionsBy(
    api,
    { wanted, live, isMeant: (entry) => isReported(entry, before) },
    signal,
  );
  if (added.length === 0) return undefined;
  const said = formatFields([...new Set(added.map(({ path, manager }) => `${path} of ${manager}`))]);
  const message = `${nameOf(wanted)} has fields beside those of the package: ${said}`;
  return { key: wanted.key, what: 'extra', message, stays: true };
};

type Asked = {
  readonly wanted: WantedObject;
  readonly live: LiveObject;
  /** True for an entry of a manager whose fields are asked for. */
  readonly isMeant: (entry: ManagedFields) => boolean;
};

/**
 * Fields of some managers beside the package's, besides labels and annotations, without defaults of the server.
 * @throws FleetError API_*, ABORTED
 */
export const additionsBy = async (
  api: KubernetesApi,
  { wanted, live, isMeant }: Asked,
  signal: AbortSignal,
): Promise<readonly Addition[]> => {
  const found = additionsOf(live, wanted.object, isMeant).filter(({ fields }) =>
    fields.some((field) => !NOTES.test(field)),
  );
  if (found.length === 0) return [];
  const writers = (live.metadata.managedFields ?? []).filter(
    (entry) => entry.operation === 'Update' && isMeant(entry),
  );
  const asNew = writers.length > 0 ? await freshOf(api, wanted, signal) : undefined;
  const others = new Map(
    writers.map(({ manager = '', fieldsV1 = {} }) => [
      manager,
      new Set(asNew && differingPaths(fieldsV1, live, asNew)),
    ]),
  );
  return found.filter(({ manager, fields }) => {
    const isOther = others.get(manager);
    return !asNew || !isOther || fields.some((field) => !NOTES.test(field) && isOther.has(field));
  });
};

/** The package's object as the server would store it if there were none yet; undefined if it says nothing about that. */
const freshOf = async (
  api: KubernetesApi,
  wanted: WantedObject,
  signal: AbortSignal,
): Promise<LiveObject | undefined> => {
  try {
    const { object } = await api.apply(
      underNewName(wanted),
      { dryRun: true, force: true, secret: true },
      signal,
    );
    return object;
  } catch (error) {
    if (
      isFleetError(error) &&
      ['API_REFUSED', 'API_DENIED', 'FIELD_CONFLICT', 'CLUSTER_LACKS'].includes(error.code)
    )
      return undefined;
    throw error;
  }
};

const underNewName = (wanted: WantedObject): LiveObject => {
  const { object, name, key } = wanted;
  const { spec } = object;
  // The name of a definition is made of its group.
  if (isDefinition(wanted) && isRecord(spec)) {
    const group = `fresh.${String(spec['group'])}`;
    const plural = isRecord(spec['names']) ? String(spec['names']['plural']) : '';
    return {
      ...object,
      spec: { ...spec, group },
      metadata: { ...object.metadata, name: `${plural}.${group}` },
    };
  }
  const fresh = `${name.slice(0, 40)}-${hashText(key).slice(0, 10)}`;
  return { ...object, metadata: { ...object.metadata, name: fresh } };
};

/** Paths of the leaves of a set in which two objects differ. */
const differingPaths = (set: FieldSet, one: unknown, other: unknown, prefix = ''): readonly string[] =>
  Object.entries(set).flatMap(([entry, below]) => {
    if (entry === '.') return [];
    const path = prefix + segmentOf(entry, prefix === '');
    const [, left] = memberOf(entry, one, isSameItem) ?? [];
    const [, right] = memberOf(entry, other, isSameItem) ?? [];
    if (isRecord(below) && pathsOf(below).length > 0) return differingPaths(below, left, right, path);
    return stableText(left) === stableText(right) ? [] : [path];
  });
