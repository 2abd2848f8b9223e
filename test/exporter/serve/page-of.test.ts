import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytes } from '#bundles/digest';
import { pageOf } from '../../../exporter/serve/page-of.ts';

test('pageOf: the pages of a list together are the list, for any page size', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1 })), fc.integer({ min: 1, max: 9 }), (items, n) => {
      const sorted = items.toSorted(compareBytes);
      const found: string[] = [];
      let query: string | undefined = `n=${n}`;
      while (query !== undefined) {
        const page = pageOf(sorted, new URLSearchParams(query));
        expect(page.items.length).toBeLessThanOrEqual(n);
        found.push(...page.items);
        query = page.next;
      }
      expect(found).toEqual(sorted);
    }),
  );
});
