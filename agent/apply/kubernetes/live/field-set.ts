import { parseExactJson } from '#bundles/json/exact-json';
import { isRecord } from '../../../model/parse-manifests.ts';

/**
 * The server's record of field ownership (`fieldsV1`, structured merge diff): 'f:name' is a field, 'k:{...}' a list item by its keys,
 * 'v:...' a member of a set, 'i:0' an index, '.' the item itself.
 */
export type FieldSet = { readonly [entry: string]: unknown };

/** The values that a field set names, as nested pairs in the set's key order; equal for equal content. */
export const extractFields = (set: FieldSet, value: unknown): unknown =>
  Object.keys(set)
    .toSorted()
    .filter((entry) => entry !== '.')
    .map((entry) => {
      const child = childOf(entry, value);
      const below = set[entry];
      return isRecord(below) && Object.keys(below).length > 0
        ? [entry, child === undefined ? null : [extractFields(below, child)]]
        : [entry, child ?? null];
    });

const childOf = (entry: string, value: unknown): unknown => {
  const text = entry.slice(2);
  switch (entry.slice(0, 2)) {
    case 'f:':
      return isRecord(value) && Object.hasOwn(value, text) ? value[text] : undefined;
    case 'i:':
      return Array.isArray(value) ? value[Number(text)] : undefined;
    case 'k:': {
      const keys = Object.entries(parseExactJson(text) as Record<string, unknown>);
      const fits = (item: unknown) => isRecord(item) && keys.every(([name, key]) => item[name] === key);
      return Array.isArray(value) ? value.find(fits) : undefined;
    }
    case 'v:':
      return Array.isArray(value) && value.includes(parseExactJson(text)) ? true : undefined;
    default:
      return undefined;
  }
};

/** Paths of the leaves of a field set: 'spec.template.spec.containers[name=app].image'. */
export const pathsOf = (set: FieldSet, prefix = ''): readonly string[] =>
  Object.entries(set).flatMap(([entry, below]) => {
    if (entry === '.') return [];
    const path = prefix + segmentOf(entry, prefix === '');
    const leaves = isRecord(below) ? pathsOf(below, path) : [];
    return leaves.length > 0 ? leaves : [path];
  });

export const segmentOf = (entry: string, first: boolean): string => {
  const text = entry.slice(2);
  switch (entry.slice(0, 2)) {
    case 'f:':
      return `${first ? '' : '.'}${text}`;
    case 'k:': {
      const keys = Object.entries(parseExactJson(text) as Record<string, unknown>);
      return `[${keys.map(([name, key]) => `${name}=${String(key)}`).join(',')}]`;
    }
    default:
      return `[${text}]`;
  }
};

/** The union of two field sets. */
export const unite = (one: FieldSet, other: FieldSet): FieldSet => {
  const result: Record<string, unknown> = { ...one };
  for (const [entry, below] of Object.entries(other)) {
    const before = result[entry];
    result[entry] = isRecord(before) && isRecord(below) ? unite(before, below) : (before ?? below);
  }
  return result;
};
