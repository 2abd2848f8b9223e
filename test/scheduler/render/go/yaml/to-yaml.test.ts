import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { float, type WholeFloat } from '../../../../../scheduler/model/go/number.ts';
import { toYaml } from '../../../../../scheduler/render/go/yaml/to-yaml.ts';
import { anyCharacter } from '../../../../harness/fleets/any-character.ts';
import { runs } from '../../../../harness/run/long.ts';

describe('toYaml', () => {
  it('indents mappings by four spaces, and the content of list items by two', () => {
    expect(
      toYaml({
        list: [{ name: 'a', v: { w: 1 } }, [1, [2]], 'x'],
        map: { a: { b: 1 } },
        none: [],
        empty: {},
      }),
    ).toBe(
      `empty: {}
list:
    - name: a
      v:
        w: 1
    - - 1
      - - 2
    - x
map:
    a:
        b: 1
none: []`,
    );
  });

  it('does not indent a list at the top level', () => {
    expect(toYaml([1, { a: 2, b: [3] }])).toBe('- 1\n- a: 2\n  b:\n    - 3');
  });

  it('sorts keys naturally, numbers and booleans first', () => {
    const keys = ['a10', 'a9', 'B', 'b', '_x', '1', '01', 'a-1', 'ab'];
    expect(toYaml(Object.fromEntries(keys.map((key) => [key, null])))).toBe(
      ['_x', '"1"', '"01"', 'B', 'a-1', 'a9', 'a10', 'ab', 'b'].map((key) => `${key}: null`).join('\n'),
    );
    const typed = new Map<string | number | boolean, number>([
      ['k', 1],
      [2.5, 2],
      [true, 3],
      [1, 4],
      [false, 5],
    ]);
    expect(toYaml(typed)).toBe('false: 5\ntrue: 3\n1: 4\n2.5: 2\nk: 1');
  });

  it.each([
    ['', '""'],
    ['plain text', 'plain text'],
    ['1.2.3', '1.2.3'],
    ['+49 30 123', '+49 30 123'],
    ['a#b', 'a#b'],
    ['http://x/y?z=1', 'http://x/y?z=1'],
    ['yes', '"yes"'],
    ['N', '"N"'],
    ['on', '"on"'],
    ['null', '"null"'],
    ['~', '"~"'],
    ['0o17', '"0o17"'],
    ['0895', '"0895"'],
    ['1_000', '"1_000"'],
    ['1:30', '"1:30"'],
    ['2024-01-02', '"2024-01-02"'],
    ['2024-02-30', '2024-02-30'],
    ['.inf', '".inf"'],
    ['1e3', '"1e3"'],
    ['# comment', "'# comment'"],
    ['a: b', "'a: b'"],
    ['ends:', "'ends:'"],
    ["it's: x", "'it''s: x'"],
    ["it's", "it's"],
    ['- x', "'- x'"],
    ['-x', '-x'],
    ['---', "'---'"],
    [' a', "' a'"],
    ['a ', "'a '"],
    ['a\tb', String.raw`"a\tb"`],
    ['a\r\n', String.raw`"a\r\n"`],
    ['a \nb', String.raw`"a \nb"`],
    ['🚀', String.raw`"\U0001F680"`],
    ['Grüße 世界', 'Grüße 世界'],
    ['\u0000', String.raw`"\0"`],
  ])('writes the string %j as %s', (text, expected) => {
    expect(toYaml(text)).toBe(expected);
  });

  it.each([
    ['a\nb', 'k: |-\n    a\n    b'],
    ['a\nb\n', 'k: |\n    a\n    b'],
    ['a\n\n', 'k: |+\n    a\n'],
    ['a\n\nb\n', 'k: |\n    a\n\n    b'],
    ['  a\nb', 'k: |4-\n      a\n    b'],
  ])('writes %j as a block', (text, expected) => {
    expect(toYaml({ k: text })).toBe(expected);
  });

  it('writes a long or multi-line key with a question mark', () => {
    const long = 'k'.repeat(129);
    expect(toYaml({ [long]: { a: 1 }, 'a\nb': [1] })).toBe(
      `? |-\n    a\n    b\n:   - 1\n? ${long}\n:   a: 1`,
    );
  });

  it.each([
    [5, '5'],
    [float(5), '5'],
    [float(1_000_000), '1e+06'],
    [0.1, '0.1'],
    [1e-7, '1e-07'],
    [1e21, '1e+21'],
    [12345678901234567890n, '12345678901234567890'],
    [Infinity, '.inf'],
    [-Infinity, '-.inf'],
    [Number.NaN, '.nan'],
    [true, 'true'],
    [null, 'null'],
  ] as const)('writes %s as %s', (value, expected) => {
    expect(toYaml(value)).toBe(expected);
  });

  it.each(['\n', '\n\nafter two blank lines', 'a\u2028b', 'a\u0085b\nc', '\ufeffmark', '<<'])(
    'writes %j so that it is read back, unlike yaml.v3',
    (text) => {
      expect(parse(toYaml({ key: [text] }))).toEqual({ key: [text] });
      expect(parse(toYaml({ [text]: 1 }))).toEqual({ [text]: 1 });
    },
  );

  it('writes the correct indentation indicator inside a list, unlike yaml.v3', () => {
    expect(toYaml(['  a\nb'])).toBe('- |2-\n    a\n  b');
    expect(parse(toYaml([['  a\nb', { k: '  c\nd\n' }]]))).toEqual([['  a\nb', { k: '  c\nd\n' }]]);
  });

  it('writes the correct indentation indicator for a text at the top level', () => {
    expect(toYaml(' a\n')).toBe('|4\n     a');
    expect(parse(toYaml('  a\nb'))).toBe('  a\nb');
  });

  it('writes any value so that a reader returns the same', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }).filter((value) => value.isWellFormed()),
      fc.string({
        unit: fc.constantFrom(
          ...Array.from(' \n\t:#-?[]{},&*!|>%@`"\'~=.0123eExXoO_+ayn\r\u0085\u2028\ufeff'),
        ),
      }),
    );
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.boolean(),
        fc.constant(null),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(text, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, (original) => {
        // Like Helm's, it leaves out the last line feed; the line it stands on has one, and `|+` counts it.
        expect(parse(`${toYaml(original as never)}\n`, { merge: true })).toEqual(plain(original));
      }),
      { numRuns: runs(300) },
    );
  });

  it('keeps trailing blank lines of a text at the end of the document', () => {
    expect(parse(`${toYaml([{ '': '_\n\n' }])}\n`)).toEqual([{ '': '_\n\n' }]);
  });

  it('reports each value with its depth and length before writing it', () => {
    const seen: (readonly [number, number])[] = [];
    toYaml({ a: ['text', 1] }, (depth, length) => seen.push([depth, length]));
    expect(seen).toEqual([
      [0, 0],
      [1, 0],
      [2, 4],
      [2, 0],
    ]);
  });
});

/** Objects with an ordinary prototype, as the parser makes them. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Record<string, WholeFloat>).map(([key, item]) => [key, plain(item)]),
  );
};
