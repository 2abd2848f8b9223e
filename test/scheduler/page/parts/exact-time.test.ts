import { expect, test } from 'vitest';
import { exactTime } from '../../../../scheduler/page/parts/exact-time.ts';

const AT = '2026-11-28T08:00:05Z';

test('an exact time is in UTC', () => {
  expect(exactTime(AT, 'utc')).toBe('2026-11-28 08:00:05 UTC');
});

test.each([
  ['Europe/Berlin', '2026-11-28 09:00:05 CET'],
  ['Asia/Kolkata', '2026-11-28 13:30:05 GMT+5:30'],
])('an exact time is in the zone %s', (zone, shown) => {
  expect(exactTime(AT, 'local', zone)).toBe(shown);
});

test('a text that is no time is shown unchanged', () => {
  expect(exactTime('soon', 'local')).toBe('soon');
});
