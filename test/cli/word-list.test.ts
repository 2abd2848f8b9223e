import { expect, test } from 'vitest';
import { wordList } from '#cli/word-list';

test('wordList splits the value of an environment variable, and does not split values of a flag', () => {
  expect(wordList('host, kubernetes', ',')).toEqual(['host', 'kubernetes']);
  expect(wordList('0 22 * * 1,3 for 6h; 0 4 * * 0 for 2h', ';')).toEqual([
    '0 22 * * 1,3 for 6h',
    '0 4 * * 0 for 2h',
  ]);
  expect(wordList(['host', 'kubernetes'], ',')).toEqual(['host', 'kubernetes']);
  expect(wordList(undefined, ',')).toBeUndefined();
});
