import * as fc from 'fast-check';
import { FORMATS } from './texts.ts';

/** Schemas as people and machines write them, right and wrong ones, for any draft that gojsonschema knows and for those it does not. */

const DRAFTS = [
  undefined,
  undefined,
  undefined,
  'http://json-schema.org/draft-04/schema#',
  'http://json-schema.org/draft-06/schema#',
  'http://json-schema.org/draft-07/schema',
  'https://json-schema.org/draft-07/schema#',
  'http://json-schema.org/schema#',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
  'https://schemas.example/config',
  'not a url',
  '1:2',
];
const NAMES = ['a', 'b', 'c', 'id', '$ref', 'toString', 'constructor', 'x-y'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];
const PATTERNS = ['^a', '[0-9]+', '^\\w{1,3}$', 'a{01}', '\\x4', '(?=a)', '(', '^[^/]+$', '(?i)A', '\\d\\Z'];

const REFERENCES = [
  '#',
  '#/definitions/a',
  '#/definitions/b',
  '#/$defs/a',
  '#/properties/a',
  '#a',
  '#nowhere',
  'a.json',
  'a.json#/properties/b',
  'http://x.example/y#/definitions/a',
  'http://x.example/a.json',
  '#/definitions/a%62',
  '#/definitions/nowhere',
  '#/allOf/0',
  'urn:x:y',
  ':',
];
const IDS = ['http://x.example/y', 'http://x.example/y#', '#a', 'a.json', 'urn:x:y', '', '#', ':', 5];

const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    '',
    'a',
    'ab',
    'abc',
    'a/b',
    '2024-02-30',
    '10.0.0.1',
    'é',
    '😀',
  ),
  fc.constantFrom<unknown>(0, 1, 2, 3, -1, 1.5, 0.07, 1.13, 5, 10, 1e21, 4.02),
);
/** Any document that is judged. */
export const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

/** Mostly what the keyword wants, now and then anything. */
const mostly = (wanted: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 24, arbitrary: wanted }, { weight: 1, arbitrary: value });

const count = mostly(fc.constantFrom<unknown>(0, 1, 2, 3, -1));
const number = mostly(fc.constantFrom<unknown>(0, 1, 2, 3, 1.5, 0.01, -1));
const limit = mostly(fc.constantFrom<unknown>(true, false, 1, 2));

const keywords = (schema: fc.Arbitrary<unknown>): Readonly<Record<string, fc.Arbitrary<unknown>>> => {
  const named = (keys: readonly string[]) =>
    mostly(fc.dictionary(fc.constantFrom(...keys), schema, { maxKeys: 3, noNullPrototype: true }));
  const list = mostly(fc.array(schema, { maxLength: 3 }));
  const one = mostly(schema);
  const type = fc.constantFrom(...TYPES, 'any');
  return {
    id: fc.constantFrom<unknown>(...IDS),
    $id: fc.constantFrom<unknown>(...IDS),
    $ref: mostly(fc.constantFrom<unknown>(...REFERENCES)),
    type: mostly(fc.oneof(type, fc.array(type, { maxLength: 3 }))),
    properties: named(NAMES),
    definitions: named(['a', 'b', 'ab']),
    $defs: named(['a']),
    patternProperties: named(['^a', 'b', '[', '^to']),
    additionalProperties: one,
    propertyNames: one,
    dependencies: mostly(
      fc.dictionary(fc.constantFrom(...NAMES), fc.oneof(schema, fc.array(fc.constantFrom(...NAMES))), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
    ),
    items: fc.oneof(schema, list),
    additionalItems: one,
    contains: one,
    multipleOf: number,
    minimum: number,
    exclusiveMinimum: limit,
    maximum: number,
    exclusiveMaximum: limit,
    minLength: count,
    maxLength: count,
    pattern: mostly(fc.constantFrom(...PATTERNS)),
    format: mostly(fc.constantFrom(...FORMATS, 'duration', 'colour')),
    minProperties: count,
    maxProperties: count,
    required: mostly(fc.array(fc.constantFrom(...NAMES), { maxLength: 3 })),
    minItems: count,
    maxItems: count,
    uniqueItems: mostly(fc.boolean()),
    const: value,
    enum: mostly(fc.array(value, { maxLength: 3 })),
    oneOf: list,
    anyOf: list,
    allOf: list,
    not: one,
    if: one,
    // oxlint-disable-next-line unicorn/no-thenable
    then: one,
    else: one,
    title: mostly(fc.constant('t')),
    default: value,
    nullable: fc.boolean(),
    prefixItems: list,
    dependentRequired: fc.constant({ a: ['b'] }),
    unevaluatedProperties: fc.constant(false),
  };
};

export const schema: fc.Arbitrary<unknown> = fc
  .record({
    $schema: fc.constantFrom(...DRAFTS),
    rest: fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom<unknown>(true, false, {}, { type: 'string' }, { minimum: 2 }),
        fc
          .subarray(Object.entries(keywords(tie('schema'))), { minLength: 1, maxLength: 4 })
          .chain((chosen) => fc.record(Object.fromEntries(chosen))),
      ),
    })).schema,
  })
  .map(({ $schema, rest }) =>
    $schema === undefined || typeof rest !== 'object' ? rest : { $schema, ...rest },
  );
