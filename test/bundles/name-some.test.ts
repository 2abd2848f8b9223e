import { expect, it } from 'vitest';
import { nameSome } from '#bundles/name-some';

it('a list in a message says when it is not whole', () => {
  expect(nameSome(['a', 'b'])).toBe('a, b');
  expect(nameSome(['a', 'b', 'c', 'd', 'e'], 2)).toBe('a, b and 3 more');
});
