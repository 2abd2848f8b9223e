import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { Place } from '#bundles/errors';
import type { WorkloadTarget } from './platform-object.ts';
import { childOf, placeIn, type Reading } from '../../model/yaml/shape.ts';

/** Places of the fields that exist in an object's spec. */
export const fieldPlaces = <F extends string>(
  reading: Reading,
  names: readonly F[],
): { readonly [field in F]?: Place } => {
  const { root } = reading.parsed;
  const spec = isMap(root) ? childOf(root, 'spec') : null;
  const places: { [field in F]?: Place } = {};
  for (const name of names) {
    const node = isMap(spec) ? childOf(spec, name) : null;
    if (node) places[name] = placeIn(reading, node);
  }
  return places;
};

/** Places of the fields of each entry, in order, of a list of mappings in an object's spec. */
export const entryPlaces = (reading: Reading, field: string): readonly Readonly<Record<string, Place>>[] => {
  const { root } = reading.parsed;
  const spec = isMap(root) ? childOf(root, 'spec') : null;
  const list = isMap(spec) ? childOf(spec, field) : null;
  const entries = isSeq(list) ? (list.items as readonly Node[]) : [];
  return entries.map((entry) =>
    Object.fromEntries(
      (isMap(entry) ? entry.items : []).flatMap(({ key, value }) =>
        isScalar(key) ? [[String(key.value), placeIn(reading, value as Node)]] : [],
      ),
    ),
  );
};

/** Joins a path to a key of `ConfigLayer.places`. */
export const placeKey = (path: readonly string[]): string => path.join('\0');

/** Places of every key of a mapping and of nested mappings, but not inside lists. */
export const keyPlaces = (values: Node | null, reading: Reading): { readonly [key: string]: Place } => {
  const places: [string, Place][] = [];
  const visit = (node: unknown, path: readonly string[]): void => {
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      const inside = [...path, typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))];
      places.push([placeKey(inside), placeIn(reading, key)]);
      visit(value, inside);
    }
  };
  visit(values, []);
  return Object.fromEntries(places);
};

/** Places of a Workload's deployment target with this index: itself, its environment, and the values of its labels. */
export const targetPlaces = (
  reading: Reading,
  index: number,
): Pick<WorkloadTarget, 'at' | 'environmentAt' | 'labelPlaces'> => {
  const { root } = reading.parsed;
  const spec = isMap(root) ? childOf(root, 'spec') : null;
  const targets = isMap(spec) ? childOf(spec, 'deploymentTargets') : null;
  const target = isSeq(targets) ? (targets.items[index] as Node) : null;
  const at = placeIn(reading, target);
  if (!isMap(target)) return { at };
  const labels = childOf(target, 'labels');
  const values = isMap(labels) ? labels.items : [];
  return {
    at,
    environmentAt: placeIn(reading, childOf(target, 'environment')),
    labelPlaces: Object.fromEntries(
      values.flatMap(({ key, value }) =>
        isScalar(key) ? [[String(key.value), placeIn(reading, value as Node)]] : [],
      ),
    ),
  };
};

/** Place of the repository in a registration, for errors about reading it. */
export const repositoryPlace = (
  reading: Reading,
  field: 'workload' | 'config' = 'workload',
): { readonly repositoryAt?: Place } => {
  const { [field]: place } = fieldPlaces(reading, [field]);
  return place ? { repositoryAt: place } : {};
};
