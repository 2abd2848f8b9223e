import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRange } from '../../../exporter/serve/parse-range.ts';

const bytes = Buffer.from(Array.from({ length: 64 }, (_, at) => at));

test('parseRange returns the range of the header, limited to the blob', () => {
  fc.assert(
    fc.property(fc.nat(80), fc.nat(80), fc.nat(64), (first, last, size) => {
      const range = parseRange(`bytes=${first}-${last}`, size);
      if (last < first) expect(range).toBeUndefined();
      else if (first >= size) expect(range).toBe('unsatisfiable');
      else expect(range).toEqual({ start: first, end: Math.min(last, size - 1) });
    }),
  );
});

test('parseRange of a suffix or an open range ends at the end of the blob', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), (length) => {
      const range = parseRange(`bytes=-${length}`, 64);
      if (range === undefined || range === 'unsatisfiable') expect.unreachable();
      expect(bytes.subarray(range.start, range.end + 1)).toEqual(bytes.subarray(-length));
    }),
  );
  expect(parseRange('bytes=10-', 64)).toEqual({ start: 10, end: 63 });
  expect(parseRange('bytes=-0', 64)).toBe('unsatisfiable');
  expect(parseRange('bytes=-5', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
});

test('parseRange ignores any other header, and several ranges', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const range = parseRange(text, 64);
      if (!text.trim().startsWith('bytes=')) expect(range).toBeUndefined();
    }),
  );
  expect(parseRange(undefined, 64)).toBeUndefined();
  expect(parseRange('bytes=0-1,4-5', 64)).toBeUndefined();
});
