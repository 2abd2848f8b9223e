import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOrder } from '../../../../agent/acquire/offers/order.ts';
import { refusal } from '../../../bundles/refusal.ts';

const item = (assignment: string, dependsOn: string[] = [], critical = false) => ({
  assignment,
  dependsOn,
  critical,
});
const names = (items: ReturnType<typeof item>[]) => inOrder(items).map(({ assignment }) => assignment);

describe('the order of packages', () => {
  it('has dependencies first, then critical ones, then names', () => {
    expect(names([item('a', ['z']), item('b'), item('c', [], true), item('z')])).toEqual([
      'c',
      'b',
      'z',
      'a',
    ]);
  });

  it('does not depend on the order they are given in', () => {
    const items = [item('a', ['d']), item('b', ['a', 'c']), item('c'), item('d', [], true), item('e')];
    fc.assert(
      fc.property(fc.shuffledSubarray(items, { minLength: items.length }), (shuffled) => {
        expect(names(shuffled)).toEqual(names(items));
      }),
    );
  });

  it('is refused for a circular dependency: DEPENDENCY_CYCLE', () => {
    expect(refusal(() => names([item('a', ['b']), item('b', ['a']), item('c')]))).toBe('DEPENDENCY_CYCLE');
  });
});
