import * as fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { fromEcma } from '#bundles/json/pattern/from-ecma';
import { compileLinear } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { runs } from '../../../harness/run/long.ts';

const matches = (pattern: string, text: string): boolean =>
  compileLinear(fromEcma(pattern)).test(text, () => undefined);

const TEXTS = [
  '',
  'a\nc',
  'a\rc',
  'a\u2028c',
  '\u0001',
  '\b',
  '\0',
  '\ud83d',
  '\u00a0',
  '\ufeff',
  '\u3000x',
  '\t\v\f\n\r',
  'foo x',
  'x y',
  ...'a abc A😀 😀 γ ab aac 123-x - [ ]x A5 é _ / . ٣'.split(' '),
];

/** Constructs of ECMA-262 that RE2 has not, has under another name, or takes for something else. */
const PATTERNS = [
  String.raw`^\s+$ ^\S+$ [\s]x [^\s] [\S\d] a.c ^\u0041\u{1F600}?$ \uD83D\uDE00 [\uD83D\uDE00-\uD83D\uDE4F] \cA [\b] \0 [^] []`,
  String.raw`\p{Letter}+ \p{Script=Greek} \P{Lu} [\p{L}\-_] ^[\w.-]+$ a{0,3}$ (?<y>a)b \/ ^(?:a|b)*?c$ \bfoo\b \d \d{3}-\D`,
  String.raw`[-a] [a-] [[] [\]]x \. ^$ \x41 \p{gc=Nd} \p{Decimal_Number} a|b|`,
].flatMap((line) => line.split(' '));

test.each(PATTERNS)(
  'fromEcma translates %s to a pattern that matches the same texts as in JavaScript',
  (pattern) => {
    const real = new RegExp(pattern, 'u');
    expect(TEXTS.filter((text) => matches(pattern, text))).toEqual(TEXTS.filter((text) => real.test(text)));
  },
);

it('fromEcma agrees with JavaScript on generated patterns', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\w',
    '\\s',
    '\\S',
    '(?:a|b)',
    '(ab)',
    '1',
  );
  const times = fc.constantFrom('', '', '*', '+', '?', '*?', '{1,2}');
  const sequence = fc
    .array(fc.tuple(atom, times), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.map((part) => part.join('')).join(''));
  const anchored = fc
    .tuple(fc.constantFrom('', '^', '\\b'), sequence, fc.constantFrom('', '$', '\\B'))
    .map((parts) => parts.join(''));
  const pattern = fc.oneof(
    anchored,
    fc.tuple(anchored, anchored).map((parts) => parts.join('|')),
  );
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '1', ' ', '\n', '\u2028', '\u00a0'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      expect(matches(source, subject)).toBe(new RegExp(source, 'u').test(subject));
    }),
    { numRuns: runs(1000) },
  );
});

test('fromEcma keeps RE2 syntax unchanged', () => {
  for (const pattern of ['(?i)abc', '[[:alpha:]]+\\z', '\\pL\\PN', '(?s)a.b'])
    expect(fromEcma(pattern)).toBe(pattern);
});

test.each([
  ['(?=a)', 'has look-around'],
  ['(?!a)', 'has look-around'],
  ['(?<=a)b', 'has look-around'],
  ['(?<!a)b', 'has look-around'],
  ['(a)\\1', 'has a back reference'],
  ['(?<n>a)\\k<n>', 'has a back reference'],
  ['^.{1,4000}$', 'more than 1000 times'],
])('fromEcma refuses %s: it %s', (pattern, why) => {
  expect(() => fromEcma(pattern)).toThrow(PatternError);
  expect(() => fromEcma(pattern)).toThrow(why);
});
