import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { isName } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { type ParsedDocument, placeOf } from './parse-documents.ts';
import { scalarText } from './scalar-text.ts';

/**
 * Descriptions of what a field may hold. A shape reads one YAML node into a typed value; a mistake is put on the list
 * with its place and gives `BAD`, so that one pass finds all mistakes of an object.
 */

export const BAD = Symbol('bad');
export type Bad = typeof BAD;

export type Reading = {
  readonly parsed: ParsedDocument<Node>;
  /** 'ClusterType drone', for messages. */
  readonly subject: string;
  readonly problems: FleetError[];
};

export type Shape<T> = (node: Node | null, path: string, reading: Reading) => T | Bad;

export type Field<T> = {
  readonly shape: Shape<T>;
  readonly absent: (() => T) | undefined;
  /** What to write where it is missing. */
  readonly hint?: string;
};

export const required = <T>(shape: Shape<T>, hint?: string): Field<T> => ({
  shape,
  absent: undefined,
  ...(hint !== undefined && { hint }),
});
/** A field that may be left out, or be null, and then has this value. */
export const optional = <T, const D = T>(shape: Shape<T>, absent: D): Field<T | D> => ({
  shape,
  absent: () => absent,
});

/** Puts a mistake on the list. */
export const refuse = (
  reading: Reading,
  node: Node | null,
  message: string,
  hint?: string,
  code: 'FIELD_INVALID' | 'UNKNOWN_FIELD' | 'NAME_INVALID' | 'SCHEMA_INVALID' = 'FIELD_INVALID',
): Bad => {
  const at = placeIn(reading, node);
  reading.problems.push(
    new FleetError(code, message, { subject: reading.subject, at, ...(hint && { hint }) }),
  );
  return BAD;
};

export const placeIn = (reading: Reading, node: Node | null): Place =>
  placeOf(reading.parsed.text, node, reading.parsed.root);

/** Aliases are read as what they stand for. */
const resolve = (node: Node | null, reading: Reading): Node | null =>
  isAlias(node) ? (node.resolve(reading.parsed.document) ?? null) : node;

export const isAbsent = (node: Node | null): boolean =>
  node === null || (isScalar(node) && node.value === null);

/** Text. Anything YAML reads as a number, boolean or date must be quoted, as Kubernetes wants it too. */
export const text: Shape<string> = (node, path, reading) => {
  const found = resolve(node, reading);
  if (isScalar(found) && typeof found.value === 'string') return scalarText(found, reading.parsed.text.text);
  if (isScalar(found) && found.value !== null) {
    const hint = `Write it in quotes: "${found.source ?? ''}"`;
    return refuse(reading, node, `${path} must be text, not ${kindOf(found)}`, hint);
  }
  return refuse(reading, node, `${path} must be text, not ${kindOf(found)}`);
};

/** Text of a set of words. */
export const oneOf =
  <const T extends string>(...words: readonly T[]): Shape<T> =>
  (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    const hint = didYouMean(value, words)?.trimEnd();
    return refuse(reading, node, `${path} must be ${words.join(' or ')}, not ${JSON.stringify(value)}`, hint);
  };

/** A DNS label of at most 63 characters. */
export const name: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || isName(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is not a DNS label`,
    'Use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit',
    'NAME_INVALID',
  );
};

const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** What Kubernetes calls an object by: labels joined with dots, at most 253 characters. */
export const objectName: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || OBJECT_NAME.test(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no object name`,
    'Use a-z, 0-9, - and dots, beginning and ending with a letter or digit',
    'NAME_INVALID',
  );
};

export const flag: Shape<boolean> = (node, path, reading) => {
  const found = resolve(node, reading);
  if (isScalar(found) && typeof found.value === 'boolean') return found.value;
  return refuse(reading, node, `${path} must be true or false, not ${kindOf(found)}`);
};

/** A whole number from 0 on. */
export const count: Shape<number> = (node, path, reading) => {
  const found = resolve(node, reading);
  if (
    isScalar(found) &&
    typeof found.value === 'bigint' &&
    found.value >= 0n &&
    found.value <= 2n ** 53n - 1n
  )
    return Number(found.value);
  return refuse(reading, node, `${path} must be a whole number, not ${kindOf(found)}`);
};

export const list =
  <T>(item: Shape<T>): Shape<readonly T[]> =>
  (node, path, reading) => {
    const found = resolve(node, reading);
    if (!isSeq(found)) return refuse(reading, node, `${path} must be a list, not ${kindOf(found)}`);
    const items = found.items.map((one, at) => item(one as Node | null, `${path}[${at}]`, reading));
    return allGood(items) ? items : BAD;
  };

const MAX_SHORT_LIST = 256;

/** A list of at most 256 entries. */
export const shortList =
  <T>(shape: Shape<T>): Shape<readonly T[]> =>
  (node, path, reading) => {
    const read = list(shape)(node, path, reading);
    if (read === BAD || read.length <= MAX_SHORT_LIST) return read;
    return refuse(reading, node, `${path} has more than ${MAX_SHORT_LIST} entries`);
  };

const allGood = <T>(items: readonly (T | Bad)[]): items is readonly T[] => items.every((one) => one !== BAD);

/** A mapping with free keys. */
export const record =
  <T>(value: Shape<T>): Shape<Readonly<Record<string, T>>> =>
  (node, path, reading) => {
    const found = resolve(node, reading);
    if (!isMap(found)) return refuse(reading, node, `${path} must be a mapping, not ${kindOf(found)}`);
    const entries: [string, T][] = [];
    let bad = false;
    for (const pair of found.items as readonly Pair<Node, Node | null>[]) {
      const key = text(pair.key, `a key of ${path}`, reading);
      const read = value(pair.value, `${path}.${String(keyText(pair))}`, reading);
      if (key === BAD || read === BAD) bad = true;
      else entries.push([key, read]);
    }
    return bad ? BAD : Object.fromEntries(entries);
  };

/** A mapping with exactly these fields; any other is UNKNOWN_FIELD. */
export const fields =
  <T extends object>(table: { readonly [K in keyof T]-?: Field<T[K]> }): Shape<T> =>
  (node, path, reading) => {
    const found = resolve(node, reading);
    if (!isMap(found)) return refuse(reading, node, `${path} must be a mapping, not ${kindOf(found)}`);
    // Every field is read although one is bad already: the reader wants to see all mistakes at once.
    let bad = refuseUnknown(found, Object.keys(table), path, reading);
    const made: Record<string, unknown> = {};
    for (const [key, field] of Object.entries<Field<unknown>>(table)) {
      const value = childOf(found, key);
      const inside = path === '' ? key : `${path}.${key}`;
      if (isAbsent(resolve(value, reading)) && field.absent) made[key] = field.absent();
      else if (isAbsent(resolve(value, reading))) {
        refuse(reading, value ?? found, `${inside} is missing`, field.hint);
        bad = true;
      } else {
        const read = field.shape(value, inside, reading);
        if (read === BAD) bad = true;
        else made[key] = read;
      }
    }
    return bad ? BAD : (made as T);
  };

const refuseUnknown = (map: YAMLMap, known: readonly string[], path: string, reading: Reading): boolean => {
  let bad = false;
  for (const pair of map.items as readonly Pair<Node, Node | null>[]) {
    const key = keyText(pair);
    if (typeof key === 'string' && known.includes(key)) continue;
    bad = true;
    refuse(
      reading,
      pair.key,
      `${path === '' ? 'the object' : path} has no field ${JSON.stringify(String(key))}`,
      `${didYouMean(String(key), known) ?? ''}It may have ${known.join(', ')}`,
      'UNKNOWN_FIELD',
    );
  }
  return bad;
};

const keyText = (pair: Pair<Node, Node | null>): unknown => (isScalar(pair.key) ? pair.key.value : pair.key);

/** The value node of a key; null when there is none. */
export const childOf = (map: YAMLMap, key: string): Node | null => {
  const pair = (map.items as readonly Pair<Node, Node | null>[]).find((one) => keyText(one) === key);
  return pair?.value ?? null;
};

/** Any shape together with where it stands. */
export const placed =
  <T>(shape: Shape<T>): Shape<{ readonly value: T; readonly at: Place }> =>
  (node, path, reading) => {
    const value = shape(node, path, reading);
    return value === BAD ? BAD : { value, at: placeIn(reading, node) };
  };

/** What a reader calls a node. */
export const kindOf = (node: Node | null | undefined): string => {
  if (isMap(node)) return 'a mapping';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node) || node.value === null) return 'empty';
  if (typeof node.value === 'string') return 'text';
  return `the ${typeof node.value === 'boolean' ? 'boolean' : 'number'} ${node.source ?? ''}`.trimEnd();
};
