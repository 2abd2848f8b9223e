import { contentKey } from '#bundles/formats/author-schema/compare-content';
import { compilePattern } from '#bundles/formats/author-schema/compile-author-schema';
import type { Value } from '../../../model/model.ts';
import {
  checkUrl,
  type Fields,
  findReferences,
  invalid,
  isFields,
  type References,
} from './find-references.ts';
import { numberFormat } from './formats.ts';

/** gojsonschema's Hybrid: the keywords of all its drafts, for a schema that names none of them. */
const HYBRID = 99;
type Draft = 4 | 6 | 7 | typeof HYBRID;
type Draw = { readonly [key: string]: Value };

type Walk = {
  readonly draft: Draft;
  readonly references: References;
  /** Referenced schemas by the absolute URL of the reference. */
  readonly targets: Map<string, { readonly name: string; schema: Value }>;
  schemas: number;
};

const MAX_SCHEMAS = 10_000;

/**
 * Converts a schema to draft 7 with the meaning that gojsonschema 1.2.0 gives it (its schema.go): unknown keywords are dropped,
 * keywords that depend on the draft are resolved, and each reference becomes a JSON pointer.
 * @throws FleetError SCHEMA_INVALID for schemas that gojsonschema rejects, and for references to another document
 */
export const toDraft07 = (document: Value): Value => {
  if (typeof document !== 'boolean' && !isFields(document))
    throw invalid('a schema is a mapping, true or false');
  const walk: Walk = {
    draft: draftOf(document),
    references: findReferences(document),
    targets: new Map(),
    schemas: 0,
  };
  const schema = readSchema(document, walk);
  if (typeof schema === 'boolean') return schema;
  const definitions = Object.fromEntries(
    [...walk.targets.values()].map(({ name, schema: one }) => [name, one]),
  );
  return { allOf: [schema], definitions };
};

const draftOf = (document: Value): Draft => {
  if (!isFields(document) || !Object.hasOwn(document, '$schema')) return HYBRID;
  const { $schema } = document;
  if (typeof $schema !== 'string') throw wrong('$schema', 'text');
  checkUrl($schema);
  const name = /^http:\/\/json-schema\.org\/draft-0([467])\/schema#?$/.exec($schema)?.[1];
  return name === undefined ? HYBRID : (Number(name) as Draft);
};

const wrong = (keyword: string, wanted: string) => invalid(`${keyword} must be ${wanted}`);

const readSchema = (node: Value, walk: Walk): Value => {
  walk.schemas += 1;
  if (walk.schemas > MAX_SCHEMAS) throw invalid(`it has more than ${MAX_SCHEMAS} schemas`);
  if (typeof node === 'boolean' && walk.draft >= 6) return node;
  if (!isFields(node)) throw wrong('a schema', walk.draft >= 6 ? 'a mapping, true or false' : 'a mapping');
  checkId(node, walk);
  if (Object.hasOwn(node, 'definitions')) readNamed(node, 'definitions', walk);
  for (const key of ['title', 'description']) if (Object.hasOwn(node, key)) textOf(node, key);
  return Object.hasOwn(node, '$ref') ? { $ref: readReference(node, walk) } : readKeywords(node, walk);
};

const readKeywords = (node: Fields, walk: Walk): Draw => {
  const drawn = Object.entries(READERS).map(([key, read]) =>
    Object.hasOwn(node, key) ? read(node, key, walk) : {},
  );
  const all = drawn.flatMap(({ allOf }) => (allOf as readonly Value[] | undefined) ?? []);
  return Object.assign({}, ...drawn, all.length > 0 && { allOf: all }) as Draw;
};

const checkId = (node: Fields, { draft }: Walk): void => {
  const isOld = draft === 4 || (draft === HYBRID && Object.hasOwn(node, 'id'));
  const key = isOld ? 'id' : '$id';
  if (Object.hasOwn(node, key)) checkUrl(textOf(node, key));
};

const readReference = (node: Fields, walk: Walk): string => {
  const { name: absolute, target } = walk.references.resolve(node, textOf(node, '$ref'));
  const known = walk.targets.get(absolute);
  const entry = known ?? { name: String(walk.targets.size), schema: true };
  if (known) {
    // Keywords beside a reference are ignored, but gojsonschema rejects invalid ones once the target has been read.
    readKeywords(node, walk);
  } else {
    walk.targets.set(absolute, entry);
    entry.schema = readSchema(target, walk);
  }
  return `#/definitions/${entry.name}`;
};

const textOf = (node: Fields, key: string): string => {
  const { [key]: value } = node;
  if (typeof value !== 'string') throw wrong(key, 'text');
  return value;
};

const numberOf = (node: Fields, key: string): number => {
  const { [key]: value } = node;
  if (typeof value !== 'number') throw wrong(key, 'a number');
  return value;
};

/** Reads one keyword of a schema and returns the draft 7 keywords for it. @throws FleetError SCHEMA_INVALID */
type Reader = (node: Fields, key: string, walk: Walk) => Draw;

const unchanged = (node: Fields, key: string): Draw => ({ [key]: node[key] as Value });

const text: Reader = (node, key) => ({ [key]: textOf(node, key) });

/** A non-negative integer, not greater than the value of the keyword `greater`. */
const count =
  (greater?: string): Reader =>
  (node, key) => {
    const value = numberOf(node, key);
    if (!Number.isSafeInteger(value) || value < 0) throw wrong(key, 'a whole number, 0 or more');
    if (greater !== undefined && value > ((node[greater] as number | undefined) ?? Infinity))
      throw invalid(`${key} is greater than ${greater}`);
    return { [key]: value };
  };

/** Before draft 6 a boolean keyword makes a limit exclusive; later the exclusive limit is a keyword with a number. */
const limit: Reader = (node, key, { draft }) => {
  const exclusive = key === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum';
  return {
    [node[exclusive] === true && (draft === 4 || draft === HYBRID) ? exclusive : key]: numberOf(node, key),
  };
};

const exclusiveLimit: Reader = (node, key, { draft }) => {
  const { [key]: value } = node;
  if (typeof value === 'number' && draft !== 4) return { [key]: value };
  if (typeof value !== 'boolean' || draft === 6 || draft === 7)
    throw wrong(key, draft === 4 ? 'true or false' : 'a number');
  const beside = key === 'exclusiveMinimum' ? 'minimum' : 'maximum';
  if (!Object.hasOwn(node, beside)) throw invalid(`${key} cannot be used without ${beside}`);
  return {};
};

const truth: Reader = (node, key): Draw => {
  if (typeof node[key] !== 'boolean') throw wrong(key, 'true or false');
  return node[key] ? { [key]: true } : {};
};

const list = (node: Fields, key: string): readonly Value[] => {
  const { [key]: value } = node;
  if (!Array.isArray(value)) throw wrong(key, 'a list');
  return value;
};

const texts = (values: readonly Value[], key: string): readonly string[] => {
  if (!values.every((one) => typeof one === 'string')) throw wrong(key, 'a list of texts');
  return values;
};

const distinct = (values: readonly Value[], key: string): void => {
  if (new Set(values.map((one) => contentKey(one))).size < values.length)
    throw invalid(`${key} has a value twice`);
};

const named = (node: Fields, key: string): Fields => {
  const { [key]: value } = node;
  if (!isFields(value)) throw wrong(key, 'a mapping');
  return value;
};

const readNamed: Reader = (node, key, walk) => ({
  [key]: Object.fromEntries(
    Object.entries(named(node, key)).map(([name, one]) => [name, readSchema(one, walk)]),
  ),
});

const schema: Reader = (node, key, walk) => ({ [key]: readSchema(node[key] as Value, walk) });

/** A schema, or a boolean in every draft. */
const schemaOrTruth: Reader = (node, key, walk) =>
  typeof node[key] === 'boolean' ? unchanged(node, key) : schema(node, key, walk);

/** An empty list has no effect. */
const schemas: Reader = (node, key, walk) => {
  const read = list(node, key).map((one) => readSchema(one, walk));
  return read.length === 0 ? {} : { [key]: read };
};

const since =
  (draft: Draft, read: Reader): Reader =>
  (node, key, walk) =>
    walk.draft >= draft ? read(node, key, walk) : {};

const TYPES = ['array', 'boolean', 'integer', 'number', 'null', 'object', 'string'];

const types: Reader = (node, key): Draw => {
  const { [key]: value } = node;
  const names = texts(Array.isArray(value) ? value : [value as Value], key);
  distinct(names, key);
  for (const name of names)
    if (!TYPES.includes(name)) throw wrong(key, `one of ${TYPES.join(', ')}, not ${JSON.stringify(name)}`);
  return names.length === 0 ? {} : { type: names.length === 1 ? (names[0] as string) : [...names] };
};

const READERS: Readonly<Record<string, Reader>> = {
  title: text,
  description: text,
  type: types,
  properties: readNamed,
  additionalProperties: schemaOrTruth,
  patternProperties: (node, key, walk) => {
    for (const pattern of Object.keys(named(node, key))) compilePattern(pattern, 're2');
    return readNamed(node, key, walk);
  },
  propertyNames: since(6, schema),
  dependencies: (node, key, walk) => ({
    [key]: Object.fromEntries(
      Object.entries(named(node, key)).map(([name, one]) => [
        name,
        Array.isArray(one) ? [...texts(one, key)] : readSchema(one, walk),
      ]),
    ),
  }),
  items: (node, key, walk) => (Array.isArray(node[key]) ? schemas(node, key, walk) : schema(node, key, walk)),
  // Applies only beside a non-empty list of schemas.
  additionalItems: (node, key, walk) => {
    const read = schemaOrTruth(node, key, walk);
    return Array.isArray(node['items']) && node['items'].length > 0 ? read : {};
  },
  multipleOf: (node, key) => {
    const value = numberOf(node, key);
    if (value <= 0) throw wrong(key, 'greater than 0');
    return { [key]: value };
  },
  minimum: limit,
  exclusiveMinimum: exclusiveLimit,
  maximum: limit,
  exclusiveMaximum: exclusiveLimit,
  minLength: count('maxLength'),
  maxLength: count(),
  pattern: (node, key) => {
    compilePattern(textOf(node, key), 're2');
    return unchanged(node, key);
  },
  // In gojsonschema a number never has a format.
  format: (node, key): Draw => {
    const name = textOf(node, key);
    const ofNumber = numberFormat(name);
    return ofNumber === undefined ? {} : { format: name, allOf: [{ format: ofNumber }] };
  },
  minProperties: count('maxProperties'),
  maxProperties: count(),
  required: (node, key): Draw => {
    const names = texts(list(node, key), key);
    distinct(names, key);
    return names.length === 0 ? {} : { [key]: [...names] };
  },
  minItems: count(),
  maxItems: count(),
  uniqueItems: truth,
  contains: since(6, schema),
  const: since(6, unchanged),
  enum: (node, key): Draw => {
    const values = list(node, key);
    distinct(values, key);
    return values.length === 0 ? {} : { [key]: [...values] };
  },
  oneOf: schemas,
  anyOf: schemas,
  allOf: schemas,
  not: schema,
  if: since(7, schema),
  // oxlint-disable-next-line unicorn/no-thenable
  then: since(7, schema),
  else: since(7, schema),
};
