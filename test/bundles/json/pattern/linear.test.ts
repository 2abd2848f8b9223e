import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileLinear, findAll } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { patternSize } from '#bundles/json/pattern/pattern-size';
import { runs } from '../../../harness/run/long.ts';

const free = (): void => undefined;

const groups = (pattern: string, text: string): readonly (string | undefined)[] | undefined => {
  const found = compileLinear(pattern).find(text, 0, free);
  return (
    found &&
    Array.from({ length: found.length / 2 }, (_, index) => {
      const [start, end] = [found[index * 2] as number, found[index * 2 + 1]];
      return start < 0 ? undefined : text.slice(start, end);
    })
  );
};

describe('compileLinear', () => {
  it.each([
    ['a|ab', 'ab', ['a']],
    ['(a|ab)(c|bcd)', 'abcd', ['abcd', 'a', 'bcd']],
    ['a{2,3}?', 'aaaa', ['aa']],
    ['(?i)straße', 'STRAßE', ['STRAßE']],
    ['(?m)^b$', 'a\nb', ['b']],
    ['(?s)a.b', 'a\nb', ['a\nb']],
    ['a.b', 'a\nb', undefined],
    ['(?U)a+', 'aaa', ['a']],
    ['(?P<x>b)(?<y>c)', 'abc', ['bc', 'b', 'c']],
    ['\\p{Greek}+', 'abγδ', ['γδ']],
    ['\\bfoo\\b', 'a foo b', ['foo']],
    ['\\x{1F680}.', 'a🚀b', ['🚀b']],
    ['\\Qa.b\\E+', 'a.bbb', ['a.bbb']],
    ['(a)|(b)', 'b', ['b', undefined, 'b']],
  ])('%s on %j finds %j', (pattern, text, expected) => {
    expect(groups(pattern, text)).toEqual(expected);
  });

  it.each([
    '(',
    'a**',
    '[b-a]',
    'a{1001}',
    '\\1',
    '(?=a)',
    '\\p{Nope}',
    '(((a{1000}){1000}){1000})',
    '(?:a{1000}b){30}',
    'a'.repeat(20_000),
    '('.repeat(5000) + ')'.repeat(5000),
  ])('refuses %s', (pattern) => {
    expect(() => compileLinear(pattern)).toThrow(PatternError);
  });

  it('takes a number of steps linear in the text for a pattern made for backtracking', () => {
    const stepsOn = (length: number) => {
      let steps = 0;
      expect(
        compileLinear('^(a|a|aa)*(a*)*$').test(`${'a'.repeat(length)}!`, (count) => (steps += count)),
      ).toBe(false);
      return steps;
    };
    expect(stepsOn(4000)).toBeLessThan(40 * 4000);
    expect(stepsOn(8000)).toBeLessThan(3 * stepsOn(4000));
  });

  it("counts the steps of each search against the caller's budget", () => {
    let left = 100_000;
    const spend = (steps: number): void => {
      left -= steps;
      if (left < 0) throw new Error('used up');
    };
    expect(() => findAll(compileLinear('a.*b|a'), 'a'.repeat(50_000), Infinity, spend)).toThrow('used up');
  });

  it('estimates the program size before compiling to no less than a third of the real one', () => {
    const atom = fc.constantFrom(
      'a',
      '.',
      '[ab]',
      '\\d',
      '(?:a|b)',
      '(ab)',
      '\\pL',
      '[^\\pL]',
      '(?:(a{2}|b){3})',
    );
    const times = fc.constantFrom('', '*', '+', '?', '{3}', '{2,}', '{0,4}', '{1,9}?');
    const pattern = fc
      .array(fc.tuple(atom, times), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.map((part) => part.join('')).join(''));
    fc.assert(
      fc.property(pattern, fc.constantFrom('', '{5}'), (inner, more) => {
        const source = `(${inner})${more}`;
        expect(patternSize(source)).toBeGreaterThanOrEqual(compileLinear(source).size / 3);
      }),
      { numRuns: runs(200) },
    );
  });

  it('findAll returns all matches, but no empty match right after another', () => {
    const spans = (pattern: string, text: string) =>
      findAll(compileLinear(pattern), text, Infinity, free).map(([start, end]) => [start, end]);
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
