import { describe, expect, it, test } from 'vitest';
import { compileSiteSchema } from '#bundles/formats/author-schema/compile-site-schema';
import { LONG } from '../../../harness/run/long.ts';
import { refusal, refusalOf } from '../../refusal.ts';

type Schema = Readonly<Record<string, unknown>>;

const range = <T>(count: number, of: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => of(at));

/** Levels that each refer to the next one twice. */
const doubling = (level: (next: Schema) => Schema): Schema => ({
  $defs: Object.fromEntries(
    range(41, (at) => [`l${at}`, at === 40 ? { type: 'number' } : level({ $ref: `#/$defs/l${at + 1}` })]),
  ),
  $ref: '#/$defs/l0',
});

const nested = (depth: number): object =>
  range(depth, (at) => at).reduce<object>((inner) => ({ a: inner }), {});

const compile = (schema: Schema) => compileSiteSchema(schema, 'input');

type Costly = readonly (readonly [string, Schema])[];

const COSTLY: Costly = [
  [
    'through the fields of a value',
    doubling((next) => ({ anyOf: [{ properties: { a: next } }, { properties: { a: next } }] })),
  ],
  ['by errors', { properties: { a: { items: { allOf: range(300, () => ({ const: 1 })) } } } }],
  ['in a pattern', { properties: { b: { pattern: '([ab]?){900}[yz]' } } }],
];

/** In the long run. */
const ALSO_COSTLY: Costly = [
  [
    'by recursion',
    {
      $defs: {
        n: { minProperties: 1, anyOf: range(2, () => ({ properties: { a: { $ref: '#/$defs/n' } } })) },
      },
      $ref: '#/$defs/n',
    },
  ],
  ['by large items', { properties: { a: { items: { allOf: range(60, () => ({ uniqueItems: true })) } } } }],
];

describe("an author's schema", () => {
  test.each([
    ['allOf', doubling((next) => ({ allOf: [next, next] }))],
    ['anyOf and not', doubling((next) => ({ anyOf: [{ not: next }, next] }))],
    ['if and else', doubling((next) => ({ if: next, else: next }))],
    ['dependentSchemas', doubling((next) => ({ dependentSchemas: { a: next, b: next } }))],
    [
      'anchors',
      {
        $defs: Object.fromEntries(
          range(41, (at) => [
            `l${at}`,
            {
              $anchor: `a${at}`,
              ...(at < 40 && { allOf: [{ $ref: `#a${at + 1}` }, { $ref: `#a${at + 1}` }] }),
            },
          ]),
        ),
        $ref: '#a0',
      },
    ],
  ])('N5: multiplying references, 40 times by %s, before it is compiled -> SCHEMA_INVALID', (_, schema) => {
    const told = refusalOf(() => compile(schema));
    expect(told.code).toBe('SCHEMA_INVALID');
    expect(told.message).toMatch(/^its references multiply: /);
  });

  test.each(LONG ? [...COSTLY, ...ALSO_COSTLY] : COSTLY)(
    'that costs more with some values ends %s, after the same steps everywhere',
    (_, schema) => {
      const check = compile(schema);
      const value = schema.$defs
        ? nested(40)
        : { a: range(20_000, (at) => [{ at }, 'b'.repeat(100)]), b: 'ab'.repeat(200_000) };
      expect(refusalOf(() => check(value)).message).toMatch(
        /^judging this value takes more than 5000000 steps/,
      );
      // The next value begins anew.
      expect(check({ a: [], b: '' }).length).toBeLessThan(2);
    },
  );

  test.each([
    ['that refers to itself', { $ref: '#' }],
    [
      'that refers to itself through another',
      { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
    ],
    [
      'with thousands of fields',
      { properties: Object.fromEntries(range(3000, (at) => [`p${at}`, { type: 'string' }])) },
    ],
    ['with thousands of branches', { oneOf: range(501, () => true) }],
    ['with an enumeration of 200,000 words', { enum: range(200_000, String) }],
    ['nested without end', range(200, (at) => at).reduce<Schema>((inner) => ({ not: inner }), {})],
    ['of Ajv’s $async', { $async: true }],
    ['with a field __proto__', JSON.parse('{"properties": {"__proto__": {"type": "string"}}}') as Schema],
    ['with a pattern of 19,000 steps', { pattern: '(?:a{1000}b){20}' }],
  ])('N9: schema bomb, one %s -> SCHEMA_INVALID', (_, schema) => {
    expect(refusal(() => compile(schema))).toBe('SCHEMA_INVALID');
  });

  it('is evaluated in linear time, also when a pattern is applied to the names of properties', () => {
    const schema = {
      type: 'object',
      patternProperties: { '^(a+)+$': {} },
      properties: { [`${'a'.repeat(60)}!`]: {} },
    };
    expect(compileSiteSchema(schema, 'build')({})).toEqual([]);
  });

  it('applies each of its patterns, not only the first', () => {
    const check = compile({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a+$' }, b: { type: 'string', pattern: '^b+$' } },
      patternProperties: { '^c': { type: 'number' }, '^d': { type: 'string' } },
      propertyNames: { pattern: '^[a-e]$' },
    });
    const wrong = (value: unknown) =>
      check(value).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
    expect(wrong({ a: 'aa', b: 'bb', c: 1, d: '' })).toEqual([]);
    expect(wrong({ a: 'bb', b: 'aa' })).toEqual(['/a pattern', '/b pattern']);
    expect(wrong({ c: '', d: 1 })).toEqual(['/c type', '/d type']);
    expect(wrong({ f: 1 })).toEqual([' pattern', ' propertyNames']);
  });

  it('treats names of Object.prototype as plain property names', () => {
    const required = compile({ required: ['toString', 'constructor'] });
    expect(required({})).toHaveLength(2);
    expect(required({ toString: 1, constructor: 1 })).toEqual([]);
    const typed = compile({ properties: { constructor: { type: 'number' }, valueOf: { type: 'number' } } });
    expect(typed({})).toEqual([]);
    expect(typed({ constructor: 'x' })).toHaveLength(1);
    expect(compile({ properties: { a: {} }, additionalProperties: false })({ toString: 1 })).toHaveLength(1);
  });

  it.each(['toString', 'valueOf', 'constructor'])('compares values with a field named %s', (name) => {
    const check = compile({
      enum: [{}, { [name]: { a: [1, null] } }],
      properties: { [name]: { const: { a: [1, null] } } },
    });
    expect(check({ [name]: { a: [1, null] } })).toEqual([]);
    expect(check({ [name]: 1 })).toHaveLength(2);
    expect(compile({ uniqueItems: true })([{ [name]: 1 }, {}, { [name]: 1 }])).toHaveLength(1);
  });

  it('treats property names that look like code as plain names', () => {
    const names = [
      'for(x){',
      'function validate1(data, {a}={}){',
      '"for(a){"',
      '\\',
      'errors++;',
      "'for(;;){",
    ];
    const schema = {
      properties: Object.fromEntries(names.map((name) => [name, { type: 'number' }])),
      additionalProperties: false,
    };
    const check = compile(schema);
    expect(check(Object.fromEntries(names.map((name) => [name, 1])))).toEqual([]);
    expect(check(Object.fromEntries(names.map((name) => [name, ''])))).toHaveLength(names.length);
  });
});
