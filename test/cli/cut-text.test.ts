import { expect, it } from 'vitest';
import { cutText } from '../../cli/cut-text.ts';

it('a text is cut before a character that would be halved', () => {
  expect(cutText('ab', 2)).toBe('ab');
  expect(cutText('abc', 2)).toBe('ab');
  expect(cutText('a🔧b', 2)).toBe('a');
  expect(cutText('a🔧b', 3)).toBe('a🔧');
});
