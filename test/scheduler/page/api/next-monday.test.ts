import { expect, test } from 'vitest';
import { nextMonday } from '../../../../scheduler/page/api/next-monday.ts';

test.each([
  ['a Friday', '2026-12-04T15:20:31Z', '2026-12-07T08:00:00Z'],
  ['a Sunday', '2026-12-06T23:59:59Z', '2026-12-07T08:00:00Z'],
  ['a Monday', '2026-11-30T06:00:00Z', '2026-12-07T08:00:00Z'],
  ['the last days of a year', '2026-12-29T12:00:00Z', '2027-01-04T08:00:00Z'],
])('after %s the next Monday begins at 8', (_, at, monday) => {
  expect(nextMonday(at, 'utc')).toBe(monday);
});

test('in the zone of the browser it is 8 there', () => {
  const monday = new Date(nextMonday('2026-12-04T15:20:31Z', 'local'));
  expect([monday.getDay(), monday.getHours(), monday.getMinutes()]).toEqual([1, 8, 0]);
});
