import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { defined } from '#bundles/defined';
import { FleetError, type Place } from '#bundles/errors';
import { LABEL } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { type ParsedDocument, placeOf } from './parse-documents.ts';
import { scalarText } from './scalar-text.ts';

/**
 * Descriptions of what a field may hold. A shape reads one YAML node into a typed value. A mistake is added to `problems`
 * with its place, and the result is `BAD`, so that one pass finds all mistakes of an object. Each shape carries the JSON
 * Schema of what it accepts, and each field a description; the published schemas and the reference are generated from them.
 */

export const BAD = Symbol('bad');
export type Bad = typeof BAD;

export type Reading = {
  readonly parsed: ParsedDocument<Node>;
  /** 'ClusterType drone', for messages. */
  readonly subject: string;
  readonly problems: FleetError[];
};

/** JSON Schema 2020-12. */
export type Schema = { readonly [keyword: string]: unknown };

type Read<T> = (node: Node | null, path: string, reading: Reading) => T | Bad;

export type Shape<T> = Read<T> & { readonly schema: Schema };

/** Combines a reader with the schema of what it accepts. `read` also checks what a schema cannot express. */
export const shape = <T>(schema: Schema | (() => Schema), read: Read<T>): Shape<T> =>
  withSchema(read, typeof schema === 'function' ? schema : () => schema);

/** Only the published schemas and the reference need a schema, and it is made of those of all parts: it is made when it is first read. */
export const withSchema = <R extends object>(
  read: R,
  schema: () => Schema,
): R & { readonly schema: Schema } => {
  let made: Schema | undefined;
  return Object.defineProperty(read, 'schema', { get: () => (made ??= schema()) }) as R & {
    readonly schema: Schema;
  };
};

/** Makes another value of what `like` reads. `make` also checks what a schema cannot express. */
export const mapped = <T, U>(
  like: Shape<T>,
  make: (value: T, node: Node | null, path: string, reading: Reading) => Bad | U,
  schema = () => like.schema,
): Shape<U> =>
  shape(schema, (node, path, reading) => {
    const value = like(node, path, reading);
    return value === BAD ? BAD : make(value, node, path, reading);
  });

/** Restricts `like` to values that `judge` accepts; `rule` is that restriction as a schema. */
export const narrowed = <T>(
  like: Shape<T>,
  rule: Schema,
  judge: (value: T, node: Node | null, path: string, reading: Reading) => Bad | T,
): Shape<T> => mapped(like, judge, () => and(like.schema, rule));

/** The same shape with a rule in its schema that the caller checks after reading. */
export const ruled = <T>(like: Shape<T>, rule: Schema): Shape<T> => narrowed(like, rule, (value) => value);

/** Combines two schemas; if both have a keyword, the second goes to `allOf`. */
const and = (one: Schema, other: Schema): Schema =>
  Object.keys(other).some((keyword) => Object.hasOwn(one, keyword))
    ? { ...one, allOf: [...((one['allOf'] as readonly Schema[] | undefined) ?? []), other] }
    : { ...one, ...other };

export type Field<T> = {
  readonly shape: Shape<T>;
  readonly absent: (() => T) | undefined;
  /** One or two sentences for the reference. */
  readonly about?: string | undefined;
  /** Hint for the error when the field is missing. */
  readonly hint?: string | undefined;
};

export const required = <T>(shape: Shape<T>, about?: string, hint?: string): Field<T> => ({
  shape,
  absent: undefined,
  about,
  hint,
});

/** A field that may be absent or null, and then has the value `absent`. */
export const optional = <T, const D = T>(shape: Shape<T>, absent: D, about?: string): Field<T | D> => ({
  shape,
  absent: () => absent,
  about,
});

/** Reports a mistake at a node. Always returns BAD. */
export const refuse = (
  reading: Reading,
  node: Node | null,
  message: string,
  hint?: string,
  code: 'FIELD_INVALID' | 'UNKNOWN_FIELD' | 'NAME_INVALID' | 'SCHEMA_INVALID' = 'FIELD_INVALID',
): Bad => {
  const at = placeIn(reading, node);
  reading.problems.push(
    new FleetError(code, message, { subject: reading.subject, at, hint: hint || undefined }),
  );
  return BAD;
};

export const placeIn = (reading: Reading, node: Node | null): Place =>
  placeOf(reading.parsed.text, node, reading.parsed.root);

/** Resolves an alias. */
const resolve = (node: Node | null, reading: Reading): Node | null =>
  isAlias(node) ? (node.resolve(reading.parsed.document) ?? null) : node;

const isAbsent = (node: Node | null): boolean => node === null || (isScalar(node) && node.value === null);

/** Text. A value that YAML reads as a number, boolean or date must be quoted, as in Kubernetes. */
export const text: Shape<string> = shape({ type: 'string' }, (node, path, reading) => {
  const found = resolve(node, reading);
  if (isScalar(found) && typeof found.value === 'string') return scalarText(found, reading.parsed.text.text);
  if (isScalar(found) && found.value !== null) {
    const hint = `Write it in quotes: "${found.source ?? ''}"`;
    return refuse(reading, node, `${path} must be text, not ${kindOf(found)}`, hint);
  }
  return refuse(reading, node, `${path} must be text, not ${kindOf(found)}`);
});

/** One of a set of words. */
export const oneOf = <const T extends string>(...words: readonly T[]): Shape<T> =>
  shape({ enum: words }, (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    const hint = didYouMean(value, words)?.trimEnd();
    return refuse(reading, node, `${path} must be ${words.join(' or ')}, not ${JSON.stringify(value)}`, hint);
  });

/** Longest quote of a refused text in a message, in UTF-16 units. */
const MAX_QUOTED = 255;

/**
 * Text that matches a pattern.
 * @param mistake predicate of the sentence '<path> "<value>" ...' @param more `maxLength` in UTF-16 units; `like` is the
 * shape to restrict
 */
export const textLike = (
  pattern: RegExp,
  mistake: string,
  hint?: string,
  more: {
    readonly maxLength?: number;
    readonly like?: Shape<string>;
    readonly code?: 'NAME_INVALID';
  } = {},
): Shape<string> => {
  const { maxLength, like = text, code } = more;
  return narrowed(like, defined({ pattern: pattern.source, maxLength }), (value, node, path, reading) => {
    if (pattern.test(value) && value.length <= (maxLength ?? Infinity)) return value;
    const quoted = JSON.stringify(value.slice(0, MAX_QUOTED));
    return refuse(reading, node, `${path} ${quoted} ${mistake}`, hint, code);
  });
};

/** A DNS label of at most 63 characters. */
export const name: Shape<string> = textLike(
  LABEL,
  'is not a DNS label',
  'Use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit',
  { code: 'NAME_INVALID' },
);

/** A Kubernetes object name: labels joined with dots, at most 253 characters. */
export const objectName: Shape<string> = textLike(
  /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/,
  'is not an object name',
  'Use a-z, 0-9, - and dots, beginning and ending with a letter or digit',
  { code: 'NAME_INVALID' },
);

export const flag: Shape<boolean> = shape({ type: 'boolean' }, (node, path, reading) => {
  const found = resolve(node, reading);
  if (isScalar(found) && typeof found.value === 'boolean') return found.value;
  return refuse(reading, node, `${path} must be true or false, not ${kindOf(found)}`);
});

const WHOLE = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** An integer from 0 to Number.MAX_SAFE_INTEGER. */
export const count: Shape<number> = shape(WHOLE, (node, path, reading) => {
  const found = resolve(node, reading);
  if (
    isScalar(found) &&
    typeof found.value === 'bigint' &&
    found.value >= 0n &&
    found.value <= BigInt(WHOLE.maximum)
  )
    return Number(found.value);
  return refuse(reading, node, `${path} must be a whole number, not ${kindOf(found)}`);
});

/** An integer from `least` to `most`. */
export const between = (least: number, most: number): Shape<number> =>
  narrowed(count, { minimum: least, maximum: most }, (value, node, path, reading) =>
    value >= least && value <= most
      ? value
      : refuse(reading, node, `${path} must be from ${least} to ${most}, not ${value}`),
  );

export const list = <T>(item: Shape<T>): Shape<readonly T[]> =>
  shape(
    () => ({ type: 'array', items: item.schema }),
    (node, path, reading) => {
      const found = resolve(node, reading);
      if (!isSeq(found)) return refuse(reading, node, `${path} must be a list, not ${kindOf(found)}`);
      const items = found.items.map((one, at) => item(one as Node | null, `${path}[${at}]`, reading));
      return allGood(items) ? items : BAD;
    },
  );

/** A list of at least `least` and at most `most` entries. */
export const shortList = <T>(item: Shape<T>, most = 256, least = 0): Shape<readonly T[]> =>
  narrowed(
    list(item),
    defined({ maxItems: most, minItems: least > 0 ? least : undefined }),
    (read, node, path, reading) => {
      if (read.length < least) return refuse(reading, node, `${path} is empty`);
      return read.length <= most ? read : refuse(reading, node, `${path} has more than ${most} entries`);
    },
  );

const allGood = <T>(items: readonly (T | Bad)[]): items is readonly T[] => items.every((one) => one !== BAD);

/** A mapping with free keys. */
export const record = <T>(value: Shape<T>): Shape<Readonly<Record<string, T>>> =>
  shape(
    () => ({ type: 'object', additionalProperties: value.schema }),
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
    },
  );

/**
 * A mapping with exactly these fields; any other is UNKNOWN_FIELD. @param elsewhere names that other tools use for a field
 * -> its name here, for the hint
 */
export const fields = <T extends object>(
  table: { readonly [K in keyof T]-?: Field<T[K]> },
  elsewhere: Readonly<Record<string, keyof T & string>> = {},
): Shape<T> =>
  shape(
    () => schemaOf(table),
    (node, path, reading) => {
      const found = resolve(node, reading);
      if (!isMap(found)) return refuse(reading, node, `${path} must be a mapping, not ${kindOf(found)}`);
      // Reads every field even after a mistake, so that all are reported at once.
      let bad = refuseUnknown(found, Object.keys(table), new Map(Object.entries(elsewhere)), path, reading);
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
    },
  );

const schemaOf = (table: Readonly<Record<string, Field<unknown>>>): Schema => {
  const all = Object.entries(table);
  const demanded = all.filter(([, { absent }]) => !absent).map(([key]) => key);
  return defined({
    type: 'object',
    additionalProperties: false,
    required: demanded.length > 0 ? demanded : undefined,
    properties: Object.fromEntries(all.map(([key, field]) => [key, fieldSchema(field)])),
  });
};

const fieldSchema = ({ shape, absent, about }: Field<unknown>): Schema => {
  const value = absent?.();
  return {
    ...defined({ description: about }),
    ...(absent ? orNull(shape.schema) : shape.schema),
    ...defined({ default: value }),
  };
};

/** A null value means absent. */
const orNull = (schema: Schema): Schema => {
  const { type, enum: words } = schema;
  if (words !== undefined) return { ...schema, enum: [...(words as readonly unknown[]), null] };
  return type === undefined ? schema : { ...schema, type: [type, 'null'].flat() };
};

const refuseUnknown = (
  map: YAMLMap,
  known: readonly string[],
  elsewhere: ReadonlyMap<string, string>,
  path: string,
  reading: Reading,
): boolean => {
  let bad = false;
  for (const pair of map.items as readonly Pair<Node, Node | null>[]) {
    const key = keyText(pair);
    if (typeof key === 'string' && known.includes(key)) continue;
    bad = true;
    refuse(
      reading,
      pair.key,
      `${path === '' ? 'the object' : path} has no field ${JSON.stringify(String(key))}`,
      `${didYouMean(elsewhere.get(String(key)) ?? String(key), known) ?? ''}It may have ${known.join(', ')}`,
      'UNKNOWN_FIELD',
    );
  }
  return bad;
};

const keyText = (pair: Pair<Node, Node | null>): unknown => (isScalar(pair.key) ? pair.key.value : pair.key);

/** The value node of a key; null without one. */
export const childOf = (map: YAMLMap, key: string): Node | null => {
  const pair = (map.items as readonly Pair<Node, Node | null>[]).find((one) => keyText(one) === key);
  return pair?.value ?? null;
};

/** Adds the place of the value to a shape. */
export const placed = <T>(inner: Shape<T>): Shape<{ readonly value: T; readonly at: Place }> =>
  mapped(inner, (value, node, _path, reading) => ({ value, at: placeIn(reading, node) }));

/** Describes a node in messages. */
export const kindOf = (node: Node | null | undefined): string => {
  if (isMap(node)) return 'a mapping';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node) || node.value === null) return 'empty';
  if (typeof node.value === 'string') return 'text';
  return `the ${typeof node.value === 'boolean' ? 'boolean' : 'number'} ${node.source ?? ''}`.trimEnd();
};
