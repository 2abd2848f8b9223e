import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { merge } from '../../../../scheduler/plan/compose/merge.ts';
import type { ConfigValue } from '../../../../scheduler/model/model.ts';
import { WholeFloat } from '../../../../scheduler/model/go/number.ts';

test.for([
  ['scalars replace', 1, 2, 2],
  ['null replaces', { a: 1 }, { a: null }, { a: null }],
  ['mappings merge by key, deep', { a: { b: 1, c: 2 } }, { a: { c: 3, d: 4 } }, { a: { b: 1, c: 3, d: 4 } }],
  ['a clash of kinds replaces', { a: { b: 1 } }, { a: [1] }, { a: [1] }],
  ['scalars of lists are appended, twice too', ['p', 'q'], ['q', 'r'], ['p', 'q', 'q', 'r']],
  [
    'mappings of lists merge by name',
    [
      { name: 'a', v: 1 },
      { name: 'b', v: 2, keep: 'x' },
    ],
    [
      { name: 'b', v: 20 },
      { name: 'c', v: 3 },
    ],
    [
      { name: 'a', v: 1 },
      { name: 'b', v: 20, keep: 'x' },
      { name: 'c', v: 3 },
    ],
  ],
  [
    'nameless mappings merge into every nameless one',
    [{ v: 1 }, { v: 2 }, 's'],
    [{ w: 9 }],
    [{ v: 1, w: 9 }, { v: 2, w: 9 }, 's'],
  ],
  [
    'every namesake is merged into',
    [{ name: 'a' }, { name: 'a', x: 1 }],
    [{ name: 'a', y: 2 }],
    [
      { name: 'a', y: 2 },
      { name: 'a', x: 1, y: 2 },
    ],
  ],
  ['a list in a list is an item', [[1]], [[1]], [[1], [1]]],
] as const)('%s', ([, under, over, expected]) => {
  expect(merge(under, over)).toEqual(expected);
});

test('mappings with keys other than text are merged by key and type', () => {
  const under = { false: 'text', a: 1 };
  const over = new Map<ConfigValue, ConfigValue>([
    [false, 'boolean'],
    ['a', 2],
  ]);
  expect(merge(under, over)).toEqual(
    new Map<unknown, unknown>([
      ['false', 'text'],
      ['a', 2],
      [false, 'boolean'],
    ]),
  );
});

test('a float with a whole value is a scalar, and list items are matched by its value', () => {
  expect(merge({ a: new WholeFloat(5) }, { a: { b: 1 } })).toEqual({ a: { b: 1 } });
  expect(merge([{ name: new WholeFloat(1), x: 1 }], [{ name: new WholeFloat(1), y: 2 }])).toEqual([
    { name: new WholeFloat(1), x: 1, y: 2 },
  ]);
});

test('the key __proto__ stays a key', () => {
  const merged = merge({ a: 1 }, JSON.parse('{"__proto__": {"polluted": true}}')) as object;
  expect(Object.keys(merged)).toEqual(['a', '__proto__']);
  expect((merged as { polluted?: boolean }).polluted).toBeUndefined();
});

const key = fc.constantFrom('a', 'b', 'c', 'name');
const value = fc.letrec<{ value: ConfigValue; map: ConfigValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.integer(),
    fc.constantFrom('x', 'y', null, true),
    tie('map'),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
  map: fc.dictionary(key, tie('value'), { maxKeys: 3 }),
}));
const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
/** Values whose mappings and scalars never meet: keys in capitals hold mappings. */
const shaped = fc.dictionary(
  fc.constantFrom('A', 'B'),
  fc.dictionary(fc.constantFrom('A', 'B'), fc.dictionary(key, scalar)),
);

describe('merge of any values', () => {
  test('changes neither of its arguments', () => {
    fc.assert(
      fc.property(value.map, value.map, (under, over) => {
        const before = structuredClone([under, over]);
        merge(deepFreeze(under), deepFreeze(over));
        expect([under, over]).toEqual(before);
      }),
    );
  });

  test('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(value.map, value.map, (under, over) => {
        expect(merge(reordered(under), reordered(over))).toEqual(merge(under, over));
      }),
    );
  });

  test('with an empty mapping returns the other value', () => {
    fc.assert(
      fc.property(value.map, (one) => {
        expect(merge(one, {})).toEqual(one);
        expect(merge({}, one)).toEqual(one);
      }),
    );
  });

  test('is associative and idempotent without lists and type clashes', () => {
    fc.assert(
      fc.property(shaped, shaped, shaped, (a, b, c) => {
        expect(merge(merge(a, b), c)).toEqual(merge(a, merge(b, c)));
        expect(merge(a, a)).toEqual(a);
      }),
    );
  });
});

const deepFreeze = (one: ConfigValue): ConfigValue => {
  if (typeof one === 'object' && one !== null) {
    Object.freeze(one);
    for (const inner of Object.values(one)) deepFreeze(inner as ConfigValue);
  }
  return one;
};

const reordered = (one: ConfigValue): ConfigValue => {
  if (Array.isArray(one)) return one.map((item: ConfigValue) => reordered(item));
  if (typeof one !== 'object' || one === null) return one;
  const entries = Object.entries(one as Record<string, ConfigValue>).toReversed();
  return Object.fromEntries(entries.map(([name, item]) => [name, reordered(item)]));
};
