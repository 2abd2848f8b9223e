import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Pair,
  Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { quoteAmbiguous } from '../../model/yaml/write-object.ts';

/**
 * Brings the node at a path of a document to a value, and changes as little as possible: nodes that already have their value keep
 * comments, quotes and anchors, and keys keep their order. New keys are added behind the others. Undefined removes the node.
 */
export const setValue = (document: Document, path: readonly string[], value: unknown): void => {
  const [key, ...rest] = path;
  if (key === undefined) {
    document.contents = merged(document, document.contents, value) as typeof document.contents;
    return;
  }
  if (value === undefined) {
    if (document.hasIn(path)) document.deleteIn(path);
    return;
  }
  if (!isMap(document.contents)) document.contents = document.createNode({}) as typeof document.contents;
  let map = document.contents as unknown as YAMLMap;
  let at = key;
  for (const next of rest) {
    const inside: unknown = map.get(at, true);
    const resolved = isAlias(inside) ? inside.resolve(document) : inside;
    if (isMap(resolved)) map = resolved;
    else {
      const made = document.createNode({}) as YAMLMap;
      setPair(document, map, at, made);
      map = made;
    }
    at = next;
  }
  setPair(document, map, at, merged(document, map.get(at, true), value));
};

/** The node for a value: the given one, changed, or a new one. */
const merged = (document: Document, node: unknown, value: unknown): unknown => {
  if (isAlias(node)) {
    const target = node.resolve(document);
    return isDeepStrictEqual(plain(document, target), value) ? node : created(document, value);
  }
  if (isDeepStrictEqual(plain(document, node), value)) return node;
  if (isMap(node) && isObject(value)) return mergeMap(document, node, value);
  if (isSeq(node) && Array.isArray(value)) return mergeSeq(document, node, value);
  if (isScalar(node) && !isObject(value) && !Array.isArray(value)) return mergeScalar(node, value);
  return created(document, value);
};

const mergeMap = (document: Document, map: YAMLMap, value: Readonly<Record<string, unknown>>): YAMLMap => {
  // A merge key brings values that are not pairs of this mapping; they are written out where they change.
  map.items = map.items.filter(({ key }) => nameOf(key) === '<<' || Object.hasOwn(value, nameOf(key)));
  const before = plain(document, map) as Readonly<Record<string, unknown>>;
  for (const [key, inside] of Object.entries(value)) {
    const known = map.items.some((pair) => nameOf(pair.key) === key);
    if (!known && Object.hasOwn(before, key) && isDeepStrictEqual(before[key], inside)) continue;
    setPair(document, map, key, merged(document, map.get(key, true), inside));
  }
  if (map.items.length === 0) map.flow = true;
  else if (map.flow === true && Object.values(value).some((one) => isObject(one) || Array.isArray(one)))
    map.flow = false;
  return map;
};

const mergeSeq = (document: Document, seq: YAMLSeq, value: readonly unknown[]): YAMLSeq => {
  const old = [...seq.items];
  const values = old.map((item) => plain(document, item));
  const used = new Set<number>();
  const take = (wanted: unknown, index: number): unknown => {
    const same = values.findIndex((one, at) => !used.has(at) && isDeepStrictEqual(one, wanted));
    const named = same === -1 ? sameName(values, wanted, used) : same;
    const at = named === -1 && value.length === old.length && !used.has(index) ? index : named;
    if (at === -1) return created(document, wanted);
    used.add(at);
    return merged(document, old[at], wanted);
  };
  seq.items = value.map(take);
  if (seq.items.length === 0) seq.flow = true;
  return seq;
};

/** The entry of a list with the same `name`, which is the same thing with another value. */
const sameName = (values: readonly unknown[], wanted: unknown, used: ReadonlySet<number>): number => {
  if (!isObject(wanted) || typeof wanted['name'] !== 'string') return -1;
  return values.findIndex((one, at) => !used.has(at) && isObject(one) && one['name'] === wanted['name']);
};

const mergeScalar = (scalar: Scalar, value: unknown): Scalar => {
  const wasText = typeof scalar.value === 'string';
  scalar.value = value;
  delete scalar.source;
  delete scalar.format;
  if (typeof value !== 'string') scalar.type = Scalar.PLAIN;
  else if (!wasText) delete scalar.type;
  if (value === '' && scalar.type === Scalar.PLAIN) scalar.type = 'QUOTE_DOUBLE';
  if (scalar.type === undefined || scalar.type === Scalar.PLAIN) quoteAmbiguous(scalar);
  if (typeof value === 'string' && value.includes('\n') && scalar.type !== 'QUOTE_DOUBLE')
    scalar.type = 'BLOCK_LITERAL';
  return scalar;
};

const created = (document: Document, value: unknown): unknown => {
  const node = document.createNode(value, { aliasDuplicateObjects: false });
  visit(node, { Scalar: (_, scalar) => quoteAmbiguous(scalar) });
  return node;
};

/** Sets a pair in its place, or behind the others. */
const setPair = (document: Document, map: YAMLMap, key: string, value: unknown): void => {
  const known = map.items.find((pair) => nameOf(pair.key) === key);
  if (known) {
    if (known.value !== value) known.value = value;
    return;
  }
  if (map.items.length === 0) map.flow = false;
  const name = document.createNode(key);
  quoteAmbiguous(name);
  map.items.push(new Pair(name, value));
};

const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);

const plain = (document: Document, node: unknown): unknown => {
  if (node === null || node === undefined) return null;
  return (node as { toJS: (document: Document, options: object) => unknown }).toJS(document, {
    maxAliasCount: 100,
  });
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
