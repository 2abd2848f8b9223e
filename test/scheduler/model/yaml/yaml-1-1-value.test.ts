import { expect, test } from 'vitest';
import { isReadDifferently, parseYaml11Collection } from '../../../../scheduler/model/yaml/yaml-1-1-value.ts';
import { WholeFloat } from '../../../../scheduler/model/go/number.ts';

/** One plain scalar, typed as inside a structured value. */
const typed = (text: string): unknown => (parseYaml11Collection(`[${text}]`) as readonly unknown[])[0];

test.for([
  ['yes', true],
  ['y', true],
  ['On', true],
  ['off', false],
  ['N', false],
  ['~', null],
  ['null', null],
  ['010', 8],
  ['0o17', 15],
  ['0x1F', 31],
  ['0b11', 3],
  ['-12', -12],
  ['+5', 5],
  ['1_000', 1000],
  ['1.5', 1.5],
  ['.5', 0.5],
  ['1e3', new WholeFloat(1000)],
  ['1.0', new WholeFloat(1)],
  ['.inf', Number.POSITIVE_INFINITY],
  ['12345678901234567890', 12345678901234567890n],
  ['089', new WholeFloat(89)],
  ['1:30', '1:30'],
  ['2024-01-02', '2024-01-02'],
  ['_1', '_1'],
  ['1.2.3', '1.2.3'],
  ['"5"', '5'],
  ["'yes'", 'yes'],
  ['!!str 5', '5'],
  ['yES', 'yES'],
] as const)('%s is typed as Kalypso types it', ([text, expected]) => {
  expect(typed(text)).toEqual(expected);
});

test.for([
  '5',
  'true',
  'plain words',
  '',
  '# only a comment',
  '"quoted"',
  '{unclosed',
  'a: [1',
  '*nowhere',
  '- *x',
])('%j is neither a mapping nor a list, and stays text', (text) => {
  expect(parseYaml11Collection(text)).toBeUndefined();
});

test('keys have types, too; a mapping with other keys than text is a Map', () => {
  expect(parseYaml11Collection('on: 1\n2: two')).toEqual(
    new Map<unknown, unknown>([
      [true, 1],
      [2, 'two'],
    ]),
  );
  expect(parseYaml11Collection('a: 1')).toEqual({ a: 1 });
});

test('the last of duplicate keys counts, the first of several documents is read, and << merges', () => {
  expect(parseYaml11Collection('a: 1\na: 2')).toEqual({ a: 2 });
  expect(parseYaml11Collection('a: 1\n---\nb: 2')).toEqual({ a: 1 });
  expect(parseYaml11Collection('base: &b {k: 1, m: 2}\nd:\n  <<: *b\n  k: 9')).toEqual({
    base: { k: 1, m: 2 },
    d: { k: 9, m: 2 },
  });
});

test('a block that ends with the text has no line end', () => {
  expect(parseYaml11Collection('a: |\n  x')).toEqual({ a: 'x' });
  expect(parseYaml11Collection('a: |\n  x\n')).toEqual({ a: 'x\n' });
});

test('aliases that expand beyond the limit are refused', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
  for (let at = 0; at < 8; at++) {
    const [name, before] = [String.fromCharCode(98 + at), String.fromCharCode(97 + at)];
    bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(',')}]`);
  }
  expect(parseYaml11Collection(bomb.join('\n'))).toBeUndefined();
});

test.for([
  ['a map as a key', '{{ .ClusterType }}'],
  ['a list as a key', '[a]: b'],
  ['half a character', 'a: "\\ud83d\\ude80"'],
  ['a value that is not of its type', 'a: !!int x'],
] as const)('%s makes the whole value a text', ([, text]) => {
  expect(parseYaml11Collection(text)).toBeUndefined();
});

test.for([
  ['a: "\\\\ud83d"', '\\ud83d'],
  ['a: 1e400', '1e400'],
  ['a: !!int "5"', 5],
  ['a: !!float 3', new WholeFloat(3)],
  ['a: !!bool yes', true],
  ['a: !!null ""', null],
  ['a: !!str 5', '5'],
  ['a: !!binary aGVsbG8=', 'hello'],
  ['a: !mine 5', '5'],
] as const)('%s is read as Go reads it', ([text, value]) => {
  expect(parseYaml11Collection(text)).toEqual({ a: value });
});

test.for([
  ['[INFO] server', ['INFO']],
  ['[section]\nkey=value\n', ['section']],
  ['{site}/{line}/telemetry', { site: null }],
  [' a: 1\nb: 2', { a: 1 }],
  ['a: 2\n<<: {a: 1}', { a: 1 }],
  ['- -', [[null]]],
  ['a: "\\z"', undefined],
  ['a: "\\x4"', undefined],
  ['%YAML 1.2\n---\na: 1', undefined],
  ['a: 1\n---\nb: [', { a: 1 }],
  ['[a: [', undefined],
] as const)('%j is read as far as yaml.v2 reads it', ([text, expected]) => {
  expect(parseYaml11Collection(text)).toEqual(expected);
});

test('text with aliases beyond the limit or too deep nesting stays text', () => {
  const levels = Array.from({ length: 10 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`);
  expect(parseYaml11Collection(`a0: &a0 x\n${levels.join('\n')}`)).toBeUndefined();
  expect(parseYaml11Collection('['.repeat(5000))).toBeUndefined();
  expect(parseYaml11Collection('- '.repeat(5000))).toBeUndefined();
  expect(parseYaml11Collection('a: &a [*a]')).toBeUndefined();
});

test.for([
  ['[INFO] server', true],
  ['{site}/{line}/telemetry', true],
  ['a: -', true],
  ['a: b\u2028c: d', true],
  ['a: 1\n---\nb: [', true],
  ['a: 1\nb: [2]', false],
  ['{"a": [1, "x"]}', false],
  ['key=value', false],
] as const)('%j may be read differently by yaml.v2: %s', ([text, expected]) => {
  expect(isReadDifferently(text)).toBe(expected);
});
