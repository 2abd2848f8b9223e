import { expect, it } from 'vitest';
import { nameSome } from '#bundles/name-some';

it('nameSome lists the first items and counts the rest: "a, b and 3 more"', () => {
  expect(nameSome(['a', 'b'])).toBe('a, b');
  expect(nameSome(['a', 'b', 'c', 'd', 'e'], 2)).toBe('a, b and 3 more');
});

it('nameSome counts from the total where the names are the first of more', () => {
  expect(nameSome(['a', 'b', 'c'], 2, 12)).toBe('a, b and 10 more');
  expect(nameSome(['a', 'b'], 2, 2)).toBe('a, b');
});
