import { Ajv, type ErrorObject, type Format, type Options, str } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' };
import { fullFormats } from 'ajv-formats/dist/formats.js';
import {
  type AuthorSchemaOptions,
  compileAuthorSchema,
} from '#bundles/formats/author-schema/compile-author-schema';
import { isRecord } from '#bundles/is-record';
import type { PlatformForm, Value } from '../../model/model.ts';
import { decimal } from '../../model/go/decimal.ts';
import { GOJSONSCHEMA_FORMATS } from './gojsonschema/formats.ts';
import { toDraft07 } from './gojsonschema/to-draft-07.ts';

const OPTIONS: Options = { strict: false, allowUnionTypes: true, verbose: true };
const LIMITS = { maxValues: 10_000 };

/** Formats of JSON Schema (2020-12, section 7.3) that are judged, by ajv-formats. Others are annotations. */
const FORMATS: Readonly<Record<string, Format>> = Object.fromEntries(
  'date time date-time duration email hostname ipv4 ipv6 uri uri-reference uri-template uuid json-pointer relative-json-pointer regex'
    .split(' ')
    .map((name) => [name, fullFormats[name as keyof typeof fullFormats]]),
);

export type SchemaCheck = {
  /** Returns all errors of a value, empty when it is valid. @throws FleetError SCHEMA_INVALID past the step budget */
  readonly judge: (data: unknown) => readonly ErrorObject[];
  /** The schema as compiled: `$ref` in an error points into it. */
  readonly schema: Value;
};

/** Cache by identity: a watching scheduler validates by the same schemas in every build. */
const compiled: Readonly<Record<PlatformForm, WeakMap<object, SchemaCheck>>> = {
  fleet: new WeakMap(),
  kalypso: new WeakMap(),
};

/**
 * Compiles a JSON Schema of the draft that its `$schema` names, 4 to 2020-12, or draft 7 without one. In Kalypso's form it is read as
 * gojsonschema reads it, with the same verdicts.
 * @throws FleetError SCHEMA_INVALID when it exceeds a limit or refers to another document
 * @throws Error when it is not a valid schema
 */
export const compileSchema = (schema: Value, form: PlatformForm): SchemaCheck => {
  if (typeof schema !== 'object' || schema === null) return compileNew(schema, form);
  const check = compiled[form].get(schema) ?? compileNew(schema, form);
  compiled[form].set(schema, check);
  return check;
};

const compileNew = (schema: Value, form: PlatformForm): SchemaCheck => {
  if (form === 'kalypso') return compileKalypso(schema);
  const draft = draftOf(schema);
  const judge = compileAuthorSchema(draft === '04' ? upgradeDraft04(schema) : schema, {
    engine: ENGINES[draft],
    patterns: 'ecma',
    limits: LIMITS,
    formats: FORMATS,
    options: OPTIONS,
  });
  return { judge, schema };
};

const compileKalypso = (written: Value): SchemaCheck => {
  const schema = toDraft07(written);
  const judge = compileAuthorSchema(schema, {
    engine: kalypsoEngine,
    patterns: 're2',
    limits: LIMITS,
    formats: GOJSONSCHEMA_FORMATS,
    // toDraft07 has validated it.
    options: { ...OPTIONS, validateSchema: false },
  });
  return { judge, schema };
};

type Engine = AuthorSchemaOptions['engine'];

type Draft = '04' | '06' | '07' | '2019' | '2020';

const draftOf = (schema: Value): Draft => {
  const named = isRecord(schema) ? (schema as { $schema?: Value }).$schema : '';
  const name = typeof named === 'string' ? named : '';
  if (name.includes('draft-04')) return '04';
  if (name.includes('draft-06')) return '06';
  if (name.includes('2019-09')) return '2019';
  if (name.includes('2020-12')) return '2020';
  return '07';
};

/** Replaces Ajv's multipleOf, which divides doubles: 1.13 would not be a multiple of 0.01. */
const withExactMultiples = (ajv: Ajv): Ajv =>
  ajv.removeKeyword('multipleOf').addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    validate: (factor: number, value: number) => isMultiple(value, factor),
    error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  });

const draft07Engine: Engine = (options) => withExactMultiples(new Ajv(options));
/** Engine for Kalypso. It has other formats, and the compiled meta-schema is kept by the identity of the function. */
const kalypsoEngine: Engine = (options) => withExactMultiples(new Ajv(options));

const ENGINES: Readonly<Record<Draft, Engine>> = {
  '04': draft07Engine,
  '06': (options) => withExactMultiples(new Ajv(options).addMetaSchema(draft6, undefined, false)),
  '07': draft07Engine,
  '2019': (options) => withExactMultiples(new Ajv2019(options)),
  '2020': (options) => withExactMultiples(new Ajv2020(options)),
};

const isMultiple = (value: number, factor: number): boolean => {
  const [a, b] = [decimal(value), decimal(factor)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ value: digits, exponent: own }: typeof a): bigint =>
    digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
};

type Mapping = { readonly [key: string]: Value };

/** Keywords whose value is data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'default', 'const', 'examples', 'required', 'type']);
/** Keywords whose value maps names to schemas: a name may look like a keyword. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'definitions',
  'dependencies',
]);

/** Rewrites a draft 4 schema to draft 7: `id` becomes `$id`, exclusive limits become numbers. */
const upgradeDraft04 = (schema: Value): Value => {
  if (Array.isArray(schema)) return schema.map((item: Value) => upgradeDraft04(item));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries: [string, Value][] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Mapping;
  for (const [key, value] of Object.entries(schema as Mapping)) {
    if (key === '$schema') continue;
    if (key === 'id' && typeof value === 'string') entries.push(['$id', value]);
    else if (key === 'minimum' && exclusiveMinimum === true)
      entries.push(['exclusiveMinimum', minimum as Value]);
    else if (key === 'maximum' && exclusiveMaximum === true)
      entries.push(['exclusiveMaximum', maximum as Value]);
    else if ((key === 'exclusiveMinimum' || key === 'exclusiveMaximum') && typeof value === 'boolean')
      continue;
    else if (DATA.has(key)) entries.push([key, value]);
    else if (NAMED.has(key) && isRecord(value))
      entries.push([
        key,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, upgradeDraft04(one)])),
      ]);
    else entries.push([key, upgradeDraft04(value)]);
  }
  return Object.fromEntries(entries);
};
