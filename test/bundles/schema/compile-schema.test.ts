import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '#bundles/schema/compile-schema';
import type { Mistake } from '#bundles/schema/mistake';
import { EXAMPLES } from '../../docs/schema-examples.ts';

const FOLDER = new URL('../../../docs/schemas/', import.meta.url);
const SCHEMAS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.schema.json'))
  .map((file): [string, object] => [
    file.replace('.schema.json', ''),
    JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')),
  ]);

/** One for all: it compiles the schema of schemas first. */
const ajv = new Ajv2020({ allowUnionTypes: true, strictTypes: false });

/** What the library says that everybody uses, in our form. */
const oracleOf = (schema: object): ((value: unknown) => Mistake | undefined) => {
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value)) return undefined;
    const { keyword = '', instancePath = '', message = '', params } = validate.errors?.[0] ?? {};
    const told = ['additionalProperty', 'allowedValues', 'pattern'].filter(
      (name) => params && name in params,
    );
    return {
      instancePath,
      keyword,
      message,
      ...(told.length > 0 && { params: Object.fromEntries(told.map((name) => [name, params?.[name]])) }),
    };
  };
};

/** Bounds of the schemas among them, and what is only nearly of a type. */
const anyValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(null, true, 0, -0, -1, 1.5, 1e300, 2 ** 53, '', 'a', '/a', [], {}),
  },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(1, 63, 64, 128, 255, 256, 1024).map((length) => '\u{1f6a2}'.repeat(length)),
  },
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.constant({ $ref: 1, __proto__: null, constructor: 'x', 'a/b~c': [] }) },
);

type Place = { readonly path: readonly (string | number)[]; readonly value: unknown };

const placesIn = (value: unknown, path: Place['path'] = []): readonly Place[] => [
  { path, value },
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, one]) =>
        placesIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
      )
    : []),
];

type Change = {
  readonly at: number;
  readonly how: 'put' | 'leave out' | 'add' | 'twice';
  readonly value: unknown;
};

const changed = (document: unknown, { at, how, value }: Change): unknown => {
  const copy: unknown = structuredClone(document);
  const places = placesIn(copy);
  const { path, value: found } = places[at % places.length] as Place;
  const [key, holder] = [
    path.at(-1),
    path.slice(0, -1).reduce<unknown>((inner, one) => (inner as never)[one], copy),
  ];
  if (how === 'add' && typeof found === 'object' && found !== null && !Array.isArray(found))
    Object.assign(found, { 'later~field/x': value });
  else if (how === 'twice' && Array.isArray(found)) found.push(...structuredClone(found), value);
  else if (key === undefined) return how === 'put' ? value : copy;
  else if (how === 'leave out' && typeof key === 'string') delete (holder as Record<string, unknown>)[key];
  else (holder as Record<string | number, unknown>)[key] = value;
  return copy;
};

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('put', 'leave out', 'add', 'twice'),
  value: anyValue,
});

describe('a compiled schema', () => {
  it.each(SCHEMAS)('%s judges whatever comes as Ajv does, with the same first mistake', (name, schema) => {
    const [check, oracle] = [compileSchema(schema), oracleOf(schema)];
    const example: unknown = (EXAMPLES as Record<string, unknown>)[name] ?? {};
    const tally = { fits: 0, wrong: 0 };
    const judge = (value: unknown): void => {
      const told = check(value);
      tally[told ? 'wrong' : 'fits']++;
      const wanted = oracle(value);
      // Of what is of another type Ajv sometimes says first that it fits none of several forms.
      if (told?.keyword === 'type' && wanted?.keyword !== 'type')
        expect(wanted).toMatchObject({
          instancePath: told.instancePath,
          keyword: expect.stringMatching(/^(oneOf|const|enum)$/),
        });
      else expect(told).toEqual(wanted);
    };
    judge(example);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        judge(changes.reduce<unknown>(changed, example));
      }),
      { numRuns: 100 },
    );
    expect(tally.wrong).toBeGreaterThan(20);
  });

  const cases: readonly [object, unknown][] = [
    [{ maxLength: 1 }, '\u{1f6a2}'],
    [{ maxLength: 1 }, '\u{1f6a2}\u{1f6a2}'],
    [{ minLength: 2 }, '\u{1f6a2}'],
    [{ minLength: 2 }, '\ud83d'],
    [{ maxLength: 1 }, '\ud83da'],
    [{ type: 'integer' }, 1.0],
    [{ type: ['string', 'null'] }, 1],
    [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, 1.5],
    [{ oneOf: [{ minimum: 3, maximum: 4 }, { maximum: 2 }] }, 2.5],
    [{ uniqueItems: true }, [1, { a: [1] }, 2, { a: [1] }, 1]],
    [{ const: 'a' }, 'b'],
    [{ const: { a: 1 } }, { a: 1 }],
    [{ enum: ['a', 2] }, 3],
    [
      { additionalProperties: { type: 'string' }, properties: { a: {} } },
      { a: 1, b: 'c', d: 2 },
    ],
    [
      { additionalProperties: false, properties: { toString: {} } },
      { toString: 1, constructor: 2 },
    ],
    [{ propertyNames: { maxLength: 1 }, maxProperties: 1 }, { ab: 1 }],
    [{ maxProperties: 1 }, { a: 1, b: 2 }],
    [{ pattern: '^\\p{Lu}$' }, 'É'],
    [{ pattern: '^a$' }, 'a\n'],
    [{ required: ['b', 'a'], properties: { a: true } }, { b: null }],
    [{ $defs: { name: { type: 'string' } }, items: { $ref: '#/$defs/name' } }, ['a', 1]],
  ];
  it.each(cases)('judges by %j as Ajv does', (schema, value) => {
    expect(compileSchema(schema)(value)).toEqual(oracleOf(schema)(value));
  });

  it('of a part is that part', () => {
    const schema = { type: 'object', $defs: { name: { type: 'string' } } };
    expect(compileSchema(schema, '/$defs/name')('a')).toBeUndefined();
    expect(compileSchema(schema, '/$defs/name')({})).toMatchObject({ keyword: 'type' });
  });

  it.each([
    [{ format: 'date' }],
    [{ properties: { a: { patternProperties: {} } } }],
    [{ constructor: 1 }],
    [{ type: 'text' }],
    [{ $ref: '#/$defs/none' }],
  ])('is not made of %j, of which not all is known', (schema) => {
    expect(() => compileSchema(schema)).toThrow(TypeError);
  });
});
