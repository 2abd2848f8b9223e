import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileRegexp, findMatch, findMatches } from '../../../../../scheduler/render/go/regexp/regexp.ts';
import { RegexpError } from '../../../../../scheduler/render/go/regexp/syntax.ts';

const free = (): void => undefined;

const groups = (pattern: string, text: string): readonly (string | undefined)[] | undefined => {
  const regexp = compileRegexp(pattern);
  const match = findMatch(regexp, text, 0, free);
  if (!match) return undefined;
  return regexp.groups.map((_name, index) => {
    const [start, end] = [match[index * 2], match[index * 2 + 1]];
    return start === undefined || end === undefined ? undefined : text.slice(start, end);
  });
};

describe('regular expressions', () => {
  it.each([
    ['a|ab', 'ab', ['a']],
    ['(a|ab)(c|bcd)', 'abcd', ['abcd', 'a', 'bcd']],
    ['a{2,3}', 'aaaa', ['aaa']],
    ['a{2,3}?', 'aaaa', ['aa']],
    ['a{,2}', 'a{,2}', ['a{,2}']],
    ['(?i)straße', 'STRAßE', ['STRAßE']],
    ['(?i:A)b', 'ab', ['ab']],
    ['(?m)^b$', 'a\nb', ['b']],
    ['(?s)a.b', 'a\nb', ['a\nb']],
    ['a.b', 'a\nb', undefined],
    ['(?U)a+', 'aaa', ['a']],
    ['(?P<x>b)(?<y>c)', 'abc', ['bc', 'b', 'c']],
    ['[[:upper:][:digit:]]+', 'abC1d', ['C1']],
    ['[^\\W\\d_]+', '1_ab', ['ab']],
    ['\\p{Greek}+', 'abγδ', ['γδ']],
    ['\\PL+', 'ab12', ['12']],
    ['\\bfoo\\b', 'a foo b', ['foo']],
    ['\\x{1F680}.', 'a🚀b', ['🚀b']],
    ['[🚀-🛀]', '🚁', ['🚁']],
    ['\\Qa.b\\E+', 'a.bbb', ['a.bbb']],
    ['[a\\]-]+', 'x]-a', [']-a']],
    ['\\A\\z', '', ['']],
    ['(a)|(b)', 'b', ['b', undefined, 'b']],
  ])('%s on %j finds %j', (pattern, text, expected) => {
    expect(groups(pattern, text)).toEqual(expected);
  });

  it.each([
    '(',
    ')',
    'a**',
    '*a',
    '[a',
    '[b-a]',
    'a{1001}',
    '\\1',
    '\\y',
    '(?z)',
    '\\p{Nope}',
    'a\\',
    '(((a{1000}){1000}){1000})',
  ])('refuses %s', (pattern) => {
    expect(() => compileRegexp(pattern)).toThrow(RegexpError);
  });

  it('agrees with JavaScript where the two languages do', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      '\\d',
      '\\w',
      '(?:a|b)',
      '(ab)',
      'x',
      '1',
      '^',
      '$',
      '\\b',
    );
    const pattern = fc
      .array(fc.tuple(atom, fc.constantFrom('', '', '*', '+', '?', '*?', '+?', '{1,2}')), {
        minLength: 1,
        maxLength: 5,
      })
      .map((parts) => parts.map(([one, times]) => (/^(?:[$^]|\\b)$/.test(one) ? one : one + times)).join(''));
    const either = fc.oneof(
      pattern,
      fc.tuple(pattern, pattern).map((parts) => parts.join('|')),
    );
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', 'x'), maxLength: 12 });
    fc.assert(
      fc.property(either, text, (source, subject) => {
        const match = new RegExp(source, 'u').exec(subject);
        const found = findMatch(compileRegexp(source), subject, 0, free);
        expect(found?.slice(0, 2)).toEqual(match ? [match.index, match.index + match[0].length] : undefined);
      }),
      { numRuns: 1000 },
    );
  });

  it('takes time linear in the text where a backtracking matcher would never end', () => {
    let steps = 0;
    const found = findMatch(compileRegexp('^(a|a|aa)*(a*)*$'), `${'a'.repeat(5000)}!`, 0, (count) => {
      steps += count;
    });
    expect(found).toBeUndefined();
    expect(steps).toBeLessThan(100_000);
  });

  it('finds all matches, but no empty one right behind another', () => {
    const spans = (pattern: string, text: string) =>
      findMatches(compileRegexp(pattern), text, Infinity, free).map(([start, end]) => [start, end]);
    expect(spans('a*', 'baac')).toEqual([
      [0, 0],
      [1, 3],
      [4, 4],
    ]);
    expect(spans('', '🚀')).toEqual([
      [0, 0],
      [2, 2],
    ]);
  });
});
