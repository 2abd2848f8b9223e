import { parseExactJson } from '#bundles/json/exact-json';
import { isRecord } from '#bundles/is-record';

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

/** The fields of one set that another lacks. A field without fields below is in a set as a whole. */
export const subtract = (one: FieldSet, other: FieldSet): FieldSet => {
  const result: Record<string, unknown> = {};
  for (const [entry, below] of Object.entries(one)) {
    const taken = other[entry];
    if (taken === undefined) result[entry] = below;
    else if (isRecord(below) && isRecord(taken) && Object.keys(below).length > 0) {
      const rest = subtract(below, taken);
      if (Object.keys(rest).some((left) => left !== '.')) result[entry] = rest;
    }
  }
  return result;
};

type Keys = Readonly<Record<string, unknown>>;
type IsItem = (item: Keys, keys: Keys) => boolean;

export const isSameItem: IsItem = (item, keys) =>
  Object.entries(keys).every(([name, key]) => item[name] === key);

/** Compares list items by their keys; a manifest may omit a key with a default, such as the protocol of a port. */
export const isItemOf: IsItem = (item, keys) =>
  Object.entries(keys).every(([name, key]) => item[name] === undefined || item[name] === key);

/** The member of an object or list that an entry of a field set names, and its token in a JSON pointer, unescaped. */
export const memberOf = (
  entry: string,
  value: unknown,
  isItem: IsItem,
): readonly [token: string, member: unknown] | undefined => {
  const text = entry.slice(2);
  if (entry.startsWith('f:'))
    return isRecord(value) && Object.hasOwn(value, text) ? [text, value[text]] : undefined;
  if (!Array.isArray(value)) return undefined;
  const said: unknown = entry.startsWith('i:') ? Number(text) : parseExactJson(text);
  const index = entry.startsWith('i:')
    ? Number(text)
    : value.findIndex((item) => (isRecord(item) && isRecord(said) ? isItem(item, said) : item === said));
  return index in value ? [String(index), value[index] as unknown] : undefined;
};

/** A key or index as a reference token (RFC 6901). */
export const tokenOf = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
