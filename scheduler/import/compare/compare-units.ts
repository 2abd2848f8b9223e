import { isDeepStrictEqual } from 'node:util';
import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import { escapeToken } from '#bundles/formats/bounds/site-fields';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import { isClusterScoped } from '../../model/kubernetes/kubernetes-object.ts';
import type { Manifest } from '../imported.ts';
import { groupOf, kindOf, nameOf, namespaceOf, recordAt } from '../read/manifests.ts';

/** One object of a cluster on both sides. */
export type ObjectComparison = {
  /** 'apps/Deployment shop/web' */
  readonly object: string;
  readonly workload: string;
  readonly state: 'equal' | 'different' | 'missing' | 'extra';
  /** Pointers of the fields that differ, at most ten. */
  readonly fields?: readonly string[];
  /** Values of a Secret that are not copied are not compared. */
  readonly withoutValues?: true;
};

const identity = (object: Manifest, namespace: string): string => {
  const group = groupOf(object);
  const own = namespaceOf(object);
  const place = isClusterScoped(kindOf(object)) ? '' : `${own ?? namespace}/`;
  return `${group === '' ? '' : `${group}/`}${kindOf(object)} ${place}${nameOf(object)}`;
};

/**
 * Compares what a tool applies with what a package has. Objects that name no namespace are in that of the unit on both sides. Our own
 * annotations are not compared.
 */
export const compareObjects = (
  workload: string,
  namespace: string,
  expected: readonly Manifest[],
  ours: readonly Manifest[],
): readonly ObjectComparison[] => {
  const found = new Map(ours.map((one) => [identity(one, namespace), one]));
  const wanted = new Map(expected.map((one) => [identity(one, namespace), one]));
  const compared = [...wanted].map(([object, before]): ObjectComparison => {
    const after = found.get(object);
    if (!after) return { object, workload, state: 'missing' };
    const withoutValues = hasSet(after) ? true : undefined;
    const [left, right] = [before, after].map((one) => plain(one, namespace, withoutValues === true));
    const fields = differences(left, right, '');
    const state = fields.length === 0 ? 'equal' : 'different';
    return defined({
      object,
      workload,
      state,
      fields: fields.length > 0 ? fields.slice(0, 10) : undefined,
      withoutValues,
    });
  });
  const extra = [...found.keys()]
    .filter((object) => !wanted.has(object))
    .map((object): ObjectComparison => ({ object, workload, state: 'extra' }));
  return [...compared, ...extra];
};

const SET = 'fleet-ferry/secret-set';

const annotationsOf = (object: Manifest): Manifest => recordAt(object, 'metadata', 'annotations');

const hasSet = (object: Manifest): boolean =>
  kindOf(object) === 'Secret' && annotationsOf(object)[SET] !== undefined;

/** An object without what both sides write in their own way: namespace, our annotations, digests of images, absent and null. */
const plain = (object: Manifest, namespace: string, withoutValues: boolean): unknown => {
  const { metadata, data, stringData, status: _, ...rest } = object;
  const {
    annotations: __,
    namespace: own,
    creationTimestamp: ___,
    ...named
  } = isRecord(metadata) ? metadata : {};
  const annotations = Object.fromEntries(
    Object.entries(annotationsOf(object)).filter(([key]) => !key.startsWith('fleet-ferry/')),
  );
  return clean({
    ...rest,
    ...(withoutValues ? {} : { data, stringData }),
    metadata: {
      ...named,
      annotations,
      namespace: isClusterScoped(kindOf(object)) ? undefined : (own ?? namespace),
    },
  });
};

const clean = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value === 'string')
    return /@sha256:[0-9a-f]{64}$/.test(value) ? normaliseImageName(value) : value;
  if (!isRecord(value)) return value;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, clean(inner)] as const)
    .filter(
      ([key, inner]) =>
        inner !== undefined &&
        inner !== null &&
        !(isEmpty(inner) && (key === 'annotations' || key === 'labels')),
    );
  return Object.fromEntries(kept);
};

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;

const differences = (left: unknown, right: unknown, path: string): readonly string[] => {
  if (isDeepStrictEqual(left, right)) return [];
  if (isRecord(left) && isRecord(right))
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
      differences(left[key], right[key], `${path}/${escapeToken(key)}`),
    );
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length)
    return left.flatMap((one, at) => differences(one, right[at], `${path}/${at}`));
  return [path === '' ? '/' : path];
};
