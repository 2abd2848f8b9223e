import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalBytes, canonicalJson, type Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { anyCharacter } from '../../harness/fleets/any-character.ts';

/** Any JSON of ours: no fractions, no -0, strings of any characters, lone surrogates too. */
const json = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.string({ unit: anyCharacter }),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: anyCharacter }), tie('json'), { maxKeys: 4 }),
  ),
})).json;

/** The same value with every object's keys written in another order. */
const reordered = (value: Json): Json => {
  if (Array.isArray(value)) return value.map((item: Json) => reordered(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, reordered(item as Json)] as const);
  return Object.fromEntries(entries.toReversed());
};

describe('canonical JSON', () => {
  it('is parsed to the value that was written', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(parseJson(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  it('does not depend on the order of keys, and is its own canonical form', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(reordered(value))).toBe(text);
        expect(canonicalJson(parseJson(text) as Json)).toBe(text);
      }),
    );
  });

  it('writes the items of long lists as it writes them alone, for any key order', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 3 }), fc.boolean(), (items, turned) => {
        const some: readonly Json[] = turned ? items.map(reordered) : items;
        const long = Array.from({ length: 20 }, () => some);
        expect(canonicalJson(long)).toBe(`[${long.map((item) => canonicalJson(item)).join(',')}]`);
        expect(canonicalJson(long.flat())).toBe(
          `[${long
            .flat()
            .map((item) => canonicalJson(item))
            .join(',')}]`,
        );
      }),
    );
  });

  it.each([1.5, Number.NaN, 2 ** 60, 1n, undefined, () => 1, new Date(0), new Map(), { a: new Date(0) }])(
    'refuses %o in a long list, too',
    (value) => {
      const list = [...Array.from({ length: 20 }, () => ({ a: 1 })), value] as unknown as Json;
      expect(() => canonicalJson(list)).toThrow(TypeError);
    },
  );

  it('ignores a toJSON property of an item in a long list', () => {
    const list = Array.from({ length: 20 }, () => ({ a: 1, toJSON: 'x' }));
    expect(canonicalJson(list)).toBe(`[${list.map(() => '{"a":1,"toJSON":"x"}').join(',')}]`);
  });

  it.each([
    [0.5, '0.5'],
    [-0, '0'],
    [1e21, '1e+21'],
    [1e-7, '1e-7'],
    [2 ** 60, '1152921504606847000'],
    [5e-324, '5e-324'],
  ])('writes the double %s as RFC 8785 does, where doubles are allowed', (value, text) => {
    expect(canonicalJson({ a: [value] }, 'doubles')).toBe(`{"a":[${text}]}`);
    expect(canonicalJson(Array(20).fill(value), 'doubles')).toBe(`[${Array(20).fill(text).join(',')}]`);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1n])(
    'refuses %s where doubles are allowed, too',
    (value) => {
      expect(() => canonicalJson([value] as unknown as Json, 'doubles')).toThrow(TypeError);
    },
  );

  it('sorts keys by their bytes, not by UTF-16', () => {
    expect(canonicalJson({ '\u{1F600}': 1, '\uFB03': 2, a: 3, B: 4, '10': 5, '9': 6 })).toBe(
      '{"10":5,"9":6,"B":4,"a":3,"\uFB03":2,"\u{1F600}":1}',
    );
  });

  it('escapes as RFC 8785 does, and nothing else', () => {
    expect(canonicalJson('\u0000\u001f\b\t\n\f\r"\\/\u007f\u2028é')).toBe(
      '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\u007f\u2028é"',
    );
    expect(canonicalBytes('é')).toEqual(Buffer.from([0x22, 0xc3, 0xa9, 0x22]));
  });

  it('omits undefined and keeps null', () => {
    expect(canonicalJson({ b: undefined, a: null })).toBe('{"a":null}');
    expect(canonicalJson([])).toBe('[]');
    expect(canonicalJson({})).toBe('{}');
  });

  it('keeps a key called __proto__', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  it.each([
    ['a fraction', 1.5],
    ['more than an integer can be', 2 ** 53],
    ['NaN', Number.NaN],
    ['infinity', [Number.POSITIVE_INFINITY]],
    ['undefined in a list', [undefined]],
    ['a hole in a list', Array(2)],
    ['undefined', undefined],
    ['a bigint', 1n],
    ['a function', { a: () => 1 }],
    ['a date', { at: new Date(0) }],
    ['a map', new Map([['a', 1]])],
    ['bytes', { bytes: Buffer.from('a') }],
  ])('refuses %s with a TypeError', (_what, value) => {
    expect(() => canonicalJson(value as Json)).toThrow(TypeError);
  });
});
